package director

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxID is how many characters an ID or a name from a model has at most.
const maxID = 128

// idFault returns what is wrong with an ID from a model; nil: nothing. IDs become keys of
// questions, fields of events and lines of texts. Those of a host may be any.
func idFault(id string) error {
	for at, c := range []rune(id) {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.:/", c) || c == utf8.RuneError {
			return fmt.Errorf("id has %q at character %d, want letters, digits and -_.:/ only", c, at+1)
		}
	}
	if n := utf8.RuneCountInString(id); n > maxID {
		return fmt.Errorf("id has %d characters, want at most %d", n, maxID)
	}
	return nil
}

// componentFault returns what is wrong with the name of a component from a model, which is a
// part of the IDs of further tasks; nil: nothing.
func componentFault(name string) error {
	for at, c := range []rune(name) {
		if !unicode.IsPrint(c) || c == utf8.RuneError {
			return fmt.Errorf("component has %q at character %d, want a name in one line", c, at+1)
		}
	}
	if n := utf8.RuneCountInString(name); n > maxID {
		return fmt.Errorf("component has %d characters, want at most %d", n, maxID)
	}
	return nil
}
