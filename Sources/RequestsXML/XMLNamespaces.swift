/// The namespaces in scope while a document is read (Namespaces in XML 1.0, third edition).
///
/// Each namespace name is compared once, when it is declared, and represented by a number from then on. A long name
/// costs nothing at the elements and attributes that use its prefix.
struct XMLNamespaces {
    private static let xml = ExactString("http://www.w3.org/XML/1998/namespace")
    private static let xmlns = ExactString("http://www.w3.org/2000/xmlns/")

    /// The numbers of the namespace names; 0 is no namespace, and 1 is the namespace of `xml`.
    private var numbers: [ExactString: Int] = [ExactString(""): 0, xml: 1]
    private var names: [String?] = [nil, xml.text]
    /// The current namespaces by prefix; the default namespace has the prefix "".
    private var current: [ExactString: Int] = [ExactString("xml"): 1]
    /// The namespaces that declarations of the open elements have replaced, in order.
    private var replaced: [(prefix: ExactString, number: Int?)] = []
    /// For each open element, the number of declarations before it.
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

    /// Declares `name` for a prefix, and returns whether the standard allows it (§3).
    ///
    /// The default namespace has the prefix "".
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

    /// Returns the number of a prefix's namespace; nil if the prefix is not declared.
    ///
    /// The default namespace has the prefix "".
    func number(of prefix: String) -> Int? {
        current[ExactString(prefix)] ?? (prefix.utf8.isEmpty ? 0 : nil)
    }

    /// Returns the name of the namespace with a number; nil for no namespace.
    func name(_ number: Int) -> String? { names[number] }
}
