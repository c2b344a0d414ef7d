/// A companion that could not be read to its end. It is left out; whoever throws this says so.
package struct UnreadableCompanion: Error {
  package init() {}
}
