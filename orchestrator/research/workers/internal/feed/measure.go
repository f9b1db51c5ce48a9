package feed

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/net/html/charset"
)

// The limits of a feed before it is parsed. For each element the parser copies all
// namespaces that are declared around it, and it keeps them until the element ends. A feed
// of 4 MiB with 2,000 papers has about 60,000 elements, nested four deep, and three
// namespaces.
const (
	maxElements   = 80_000
	maxDepth      = 100
	maxNamespaces = 8 // limit of namespaces that are declared around an element
)

// measure counts the elements of a document, as far as it can be read, and returns an error
// as soon as the parser would take too long for it.
func measure(data []byte) (elements int, err error) {
	d := xml.NewDecoder(bytes.NewReader(slices.DeleteFunc(bytes.Clone(data), isDropped)))
	d.Strict, d.CharsetReader = false, charset.NewReaderLabel // the parser of feeds reads the same way
	namespaces := []int{0}                                    // around each open element
	for {
		token, err := d.Token()
		if err != nil {
			return elements, nil //nolint:nilerr // the parser meets it, too, and tells
		}
		switch t := token.(type) {
		case xml.StartElement:
			elements++
			declared, err := declarations(t)
			namespaces = append(namespaces, namespaces[len(namespaces)-1]+declared)
			switch depth := len(namespaces) - 1; {
			case err != nil:
				return elements, err
			case elements > maxElements:
				return elements, fmt.Errorf("it has more than %d elements", maxElements)
			case depth > maxDepth:
				return elements, fmt.Errorf("its elements are nested deeper than %d", maxDepth)
			case namespaces[depth] > maxNamespaces:
				return elements, fmt.Errorf("it declares more than %d namespaces around an element", maxNamespaces)
			}
		case xml.EndElement:
			namespaces = namespaces[:len(namespaces)-1]
		}
	}
}

// declarations counts the namespaces that an element declares. An xml:base is an error: the
// parser would make each address as long as the base, and trees of what is HTML.
func declarations(t xml.StartElement) (n int, err error) {
	for _, a := range t.Attr {
		switch {
		case a.Name.Space == "xmlns", a.Name.Space == "" && a.Name.Local == "xmlns":
			n++
		case a.Name.Space != "" && a.Name.Local == "base":
			return n, errors.New("it has an xml:base, want absolute addresses")
		}
	}
	return n, nil
}

// isDropped reports whether the parser drops a byte: a control character.
func isDropped(b byte) bool { return b < ' ' && b != '\t' && b != '\n' && b != '\r' }
