import Sealing

/// The pages of a base that share content with the pages of a new frame.
struct BaseVotes {
  /// A page of the base.
  struct Vote {
    let page: Int
    /// How many samples of the new pages lie in it.
    var count: Int
    /// For some new page nothing better is known.
    var isBest = false
    /// The new pages that chose it are it, but for a little: what lies beside it is of no use to them.
    var isAlone = false
  }

  /// By page, each once.
  private var votes: [Vote]
  private let pageSize: Int
  private let pageCount: Int
  /// Pages so close that what lies between them is worth having.
  private let between: Int
  /// A few samples are worth nothing by themselves.
  private let leastOfStrays: Int

  /// - Parameter all: in any order, a page perhaps more than once.
  init(_ all: [Vote], of base: BaseImage) {
    votes = all.sorted { $0.page < $1.page }.reduce(into: []) { votes, vote in
      guard let last = votes.indices.last, votes[last].page == vote.page else { return votes.append(vote) }
      votes[last].count += vote.count
      votes[last].isBest = votes[last].isBest || vote.isBest
      votes[last].isAlone = votes[last].isAlone && vote.isAlone
    }
    pageSize = base.pageSize
    pageCount = base.pageCount
    between = 4 + 2 * base.samples.pagesPerSample(pageSize: base.pageSize)
    leastOfStrays = base.samples.votesOfHalfAPage(pageSize: base.pageSize)
    leaveOutStrays()
  }

  /// Base pages in order, no more than a prefix may have: those that share most with the new pages, what lies between
  /// such pages, and their neighbours.
  var pages: [Int] {
    let limit = Limits.prefix / pageSize
    for least in [1, 2, 3, 5, 8, 16] {
      let pages = widened(votes.filter { $0.count >= least }, between: least == 1 ? between : 2)
      if pages.count <= limit { return pages }
    }
    let best = votes.sorted { $0.count > $1.count }.prefix(limit / 3).sorted { $0.page < $1.page }
    return Array(widened(best, between: 0).prefix(limit))
  }

  /// Leaves out pages that share little and lie far from all others, unless a new page has nothing else: whoever
  /// restores pays for the whole frame of each.
  private mutating func leaveOutStrays() {
    var kept: [Vote] = []
    var cluster: [Vote] = []
    for vote in votes + [Vote(page: Int.max, count: 0)] {
      if let last = cluster.last, vote.page - last.page > between {
        if cluster.contains(where: \.isBest) || cluster.reduce(0, { $0 + $1.count }) >= leastOfStrays {
          kept += cluster
        }
        cluster = []
      }
      cluster.append(vote)
    }
    votes = kept
  }

  /// The pages, with their neighbours and what lies between two that are close, but for those that stand alone.
  private func widened(_ votes: [Vote], between: Int) -> [Int] {
    var all: [Int] = []
    var wasAlone = false
    for vote in votes {
      let neighbours = vote.isAlone ? 0 : 1
      let reach = vote.isAlone || wasAlone ? 0 : between
      let first = max(0, vote.page - neighbours)
      let last = min(vote.page + neighbours, pageCount - 1)
      let next = all.last.map { $0 + 1 } ?? first
      let start = first <= next + reach ? next : first
      if start <= last { all += start...last }
      wasAlone = vote.isAlone
    }
    return all
  }
}
