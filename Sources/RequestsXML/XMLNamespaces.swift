/// The namespaces in scope while a document is read (Namespaces in XML 1.0, third edition).
///
/// Each distinct name of a namespace is compared once, when it is declared, and is a number from then on: a long one
/// costs nothing at the elements and attributes that use its prefix.
struct XMLNamespaces {
    private static let xml = ExactString("http://www.w3.org/XML/1998/namespace")
    private static let xmlns = ExactString("http://www.w3.org/2000/xmlns/")

    /// The numbers of the names; 0 is no namespace, 1 that of `xml`.
    private var numbers: [ExactString: Int] = [ExactString(""): 0, xml: 1]
    private var names: [String?] = [nil, xml.text]
    /// The namespaces in force by prefix, "" for elements without one.
    private var current: [ExactString: Int] = [ExactString("xml"): 1]
    /// What was in force before each declaration of the open elements.
    private var replaced: [(prefix: ExactString, number: Int?)] = []
    /// How many declarations there were when each of the open elements began.
    private var scopes: [Int] = []

    /// Begins an element.
    mutating func open() {
        scopes.append(replaced.count)
    }

    /// Ends the innermost element, and with it the declarations of its tag.
    mutating func close() {
        let count = scopes.removeLast()
        while replaced.count > count {
            let last = replaced.removeLast()
            current[last.prefix] = last.number
        }
    }

    /// Declares `name` for a prefix, "" for the default namespace; false when the standard forbids it (§3).
    mutating func declare(_ prefix: String, _ name: String) -> Bool {
        let (prefix, name) = (ExactString(prefix), ExactString(name))
        guard prefix.text.utf8.isEmpty || !name.text.utf8.isEmpty, prefix != ExactString("xmlns"), name != Self.xmlns,
            (prefix == ExactString("xml")) == (name == Self.xml)
        else { return false }
        let number = numbers[name] ?? names.count
        if number == names.count {
            numbers[name] = number
            names.append(name.text)
        }
        replaced.append((prefix, current.updateValue(number, forKey: prefix)))
        return true
    }

    /// The number of the namespace of a prefix, "" for the default namespace; nil when the prefix is not declared.
    func number(of prefix: String) -> Int? {
        current[ExactString(prefix)] ?? (prefix.utf8.isEmpty ? 0 : nil)
    }

    /// The name of the namespace with that number; nil for none.
    func name(_ number: Int) -> String? { names[number] }
}
