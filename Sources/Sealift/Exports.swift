// The command line uses this module and nothing below it. What it works with is `package`, and comes through here;
// outside of this package there is nothing in these modules that anybody could name.
@_exported public import Backends
@_exported public import Operations
@_exported public import Storage
