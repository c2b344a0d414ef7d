extension String {
  /// The name of a database as that of a file: what cannot stand there becomes `_`, also a slash that carries an accent.
  package var asFileName: String {
    unicodeScalars.reduce(into: "") { name, scalar in
      name.unicodeScalars.append(scalar == "/" || scalar == "\0" ? "_" : scalar)
    }
  }
}
