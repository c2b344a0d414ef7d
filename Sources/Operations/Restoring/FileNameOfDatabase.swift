extension String {
  /// The name of a database as that of a file: what cannot stand there becomes `_`, also a slash that carries an accent,
  /// and what a terminal takes for a command.
  package var asFileName: String {
    unicodeScalars.reduce(into: "") { name, scalar in
      let isControl = scalar.properties.generalCategory == .control
      name.unicodeScalars.append(scalar == "/" || isControl ? "_" : scalar)
    }
  }
}
