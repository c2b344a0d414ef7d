/// Pages of a database taken apart: what repeats from page to page and from version to version is laid side by side
/// (`Docs/Format.md` §4.5, `Docs/Decisions/0007`).
///
/// A vacuum moves the borders between pages, not the order of the rows. In a page cells lie backwards, behind a list of
/// their offsets; here they stand in the order of their keys, one page's behind the other's, so that a row changed in
/// one place costs nothing in the pages behind it.
enum CellForm {
  /// A page that is kept as it is.
  static let literal: UInt8 = 0
  static let typeMask: UInt8 = 0x0F
  static let arrangementMask: UInt8 = 0x30
  /// Cells lie from the end of the page backwards, in their order.
  static let straight: UInt8 = 0x10
  /// The last cell lies at the end of the page, the others before it, in their order. SQLite leaves index pages so
  /// when it fills them in order.
  static let lastFirst: UInt8 = 0x20
  /// Anything else: the exceptions are listed.
  static let irregular: UInt8 = 0x30
  /// The gap between cell pointers and cells is not all zeros.
  static let gapIsUsed: UInt8 = 0x80
  static let exceptionLimit = 255

  /// Bytes that the form of so many pages may have, at most.
  static func limit(pages: Int, pageSize: Int) -> Int { pages * (pageSize + 1) }
}
