import Requests
import TestSupport
import Testing

/// A mark after a delimiter forms one `Character` with it; no reader may overlook the delimiter.
@Suite("Marks after delimiters", .timeLimit(.minutes(10)))
struct PlantedMarkTests {
    private static func parts(of parameters: FieldParameters?) -> [String] {
        (parameters ?? [:]).flatMap { [$0.name, $0.value] }
    }

    static let readers = [
        PlantedReader(
            "Content-Disposition",
            samples: [#"attachment; filename="a\"b;c\\d=e, f"; x=y"#, "a; filename*=UTF-8'en'a%2Fb; filename=c,d; e=f"]
        ) { text in
            let disposition = ContentDisposition(fieldValue: text)
            return [disposition?.type ?? "-", disposition?.filename ?? "-"] + parts(of: disposition?.parameters)
        },
        PlantedReader(
            "Link",
            samples: [
                #"<a,b;c?d=e>; rel="next last"; title="f, \"g\\", <h>;rel=i/j;type=k/l , <m>; rel=n\#to"#,
                "<a>; title*=UTF-8'en'%41b; title=c",
            ]
        ) { text in
            WebLink.links(in: text).flatMap { link in
                [link.reference, link.title ?? "-"] + link.relations + parts(of: link.parameters)
            }
        },
        PlantedReader(
            "challenges",
            samples: [#"Basic realm="a, \"b\\", c=d, Digest e="f=g" , NTLM h==, Other"#]
        ) { text in
            AuthenticationChallenge.challenges(in: text).flatMap { challenge in
                [challenge.scheme, challenge.token68 ?? "-"] + parts(of: challenge.parameters)
            }
        },
        PlantedReader(
            "media types",
            samples: [#"text/html; charset="a;b\"c\\"; d=e f; g=h"#, "a/b;c=d"]
        ) { text in
            guard let type = MediaType(text) else { return [] }
            return [type.type.rawValue.rawValue, type.subtype.rawValue.rawValue]
                + type.parameters.flatMap { [$0.name, $0.value] }
        },
        PlantedReader(
            "Cache-Control",
            samples: [#"max-age=5, no-cache="Set-Cookie, X-A\#t, b", private , x="a\"b,c", y"#]
        ) { text in
            let control = CacheControl(fieldValue: text)
            return parts(of: control.directives) + control.fieldNames(of: "no-cache").map(\.rawValue)
                + ["\(control.maxAge ?? -1)", "\(control.isPrivate)"]
        },
        PlantedReader("entity tags", samples: [#""a,b", W/"c" ,,"""#, "*", "W/\"x\""]) { text in
            [EntityTag.Condition(fieldValue: text)?.fieldValue ?? "-", EntityTag(fieldValue: text)?.opaqueTag ?? "-"]
        },
        PlantedReader("ranges", samples: ["bytes=0-4, 5-, -6", "bytes 0-4/10", "bytes */7"]) { text in
            [
                ByteRange.ranges(in: text).map(ByteRange.fieldValue) ?? "-",
                ContentRange(fieldValue: text)?.fieldValue ?? "-",
            ]
        },
        PlantedReader(
            "dates and delays",
            samples: [
                "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "7 ",
            ]
        ) { text in
            [HTTPDate(text)?.description ?? "-", RetryAfter(fieldValue: text)?.fieldValue ?? "-"]
        },
        PlantedReader("extended values", samples: ["UTF-8'en'a%2Fb", "iso-8859-1''%A3"]) { text in
            FieldParameters.ExtendedValue(text).map { [$0.text, $0.language] } ?? []
        },
        PlantedReader(
            "URLs",
            samples: ["http://u:p@a.b:81/c/../d/./e?f=g&h#i", "http://[::ffff:1.2.3.4]:5/", "//h/../x?y", "../z;w"]
        ) { text in
            let base = try? TargetURI("http://base.example/one/two?three")
            return [try? TargetURI(text), try? base?.resolving(text)].flatMap { target in
                [target?.host ?? "-", target?.path ?? "-", target?.query ?? "-", target?.fragment ?? "-"]
            }
        },
        PlantedReader("percent-encoding", samples: ["a%2Fb%C3%A9+c"]) { [PercentEncoding.decode($0)] },
        PlantedReader(
            "event streams",
            samples: ["event: a:b\ndata: c\r\ndata\rdata:d\nid: 1\nretry: 5\n\n: e\ndata: f\nid\n\n"]
        ) { text in
            var parser = ServerSentEvent.Parser()
            let events = (try? parser.read(Array(text.utf8)[...])) ?? []
            return events.flatMap { [$0.type, $0.data, $0.lastEventID] } + ["\(parser.reconnectionTime ?? .zero)"]
        },
        PlantedReader("names of files", samples: ["/a.b/c.html", "x.tar.gz", "a/.png"]) { text in
            [MediaType(filename: text).rawValue]
        },
    ]

    @Test("a mark after any octet belongs to the text that follows", .rows("R-75"), arguments: readers)
    func planting(reader: PlantedReader) {
        #expect(reader.differences == [])
    }

    @Test(
        "written values are parsed unchanged, whatever marks they contain", .rows("R-75"),
        arguments: PlantedReader.marks)
    func roundTrips(mark: Unicode.Scalar) throws {
        for delimiter in "\"\\;,=/<> '()*%".unicodeScalars {
            let text = "a\(delimiter)\(mark)b\(delimiter)\(mark)"
            let octets = Array(text.utf8)
            func isText(_ other: String?) -> Bool { other.map { Array($0.utf8) } == octets }

            let disposition = ContentDisposition("x", parameters: ["filename": text])
            #expect(isText(ContentDisposition(fieldValue: disposition.fieldValue)?.filename), "\(text)")
            let attachment = ContentDisposition.attachment(filename: text)
            #expect(isText(ContentDisposition(fieldValue: attachment.fieldValue)?.filename), "\(text)")
            var link = WebLink("/x", relation: "next")
            link.parameters["title"] = text
            #expect(isText(WebLink.links(in: link.fieldValue).first?.title), "\(text)")
            let challenge = AuthenticationChallenge(scheme: "Basic", parameters: ["realm": text])
            #expect(isText(AuthenticationChallenge.challenges(in: challenge.fieldValue).first?.realm), "\(text)")
            let type = MediaType(type: "a", subtype: "b", parameters: ["c": text])
            #expect(isText(MediaType(type.rawValue)?.parameters["c"]), "\(text)")
            var control = CacheControl.noStore
            control.directives["x"] = text
            #expect(isText(CacheControl(fieldValue: control.fieldValue).directives["x"]), "\(text)")
            #expect(
                isText(FieldParameters.ExtendedValue(FieldParameters.ExtendedValue(text: text).fieldValue)?.text),
                "\(text)")
        }
    }

    @Test(
        "a separator ends a folder name whatever mark follows it, and one component remains", .rows("R-75"),
        arguments: PlantedReader.marks
    )
    func filenames(mark: Unicode.Scalar) throws {
        for separator in ["/", "\\"] {
            for folder in ["", "..", "/etc", "..\(separator)\(mark).."] {
                let name = "\(folder)\(separator)\(mark)evil"
                for value in [
                    "attachment; filename*=" + FieldParameters.ExtendedValue(text: name).fieldValue,
                    "attachment; filename=" + FieldValueWriter.quoted(name),
                ] {
                    let disposition = try #require(ContentDisposition(fieldValue: value))
                    #expect(disposition.filename.map { Array($0.utf8) } == Array(name.utf8))
                    #expect(disposition.safeFilename.map { Array($0.utf8) } == Array("evil".utf8), "\(value)")
                }
            }
        }
        let reproduced = ContentDisposition(fieldValue: "attachment; filename*=UTF-8''..%2F%CC%81evil")
        #expect(reproduced?.safeFilename == "evil")
    }
}
