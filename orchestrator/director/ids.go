package director

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/internal/text"
)

// maxID is how many characters an ID or a name from a model has at most.
const maxID = text.MaxID

// idFault returns what is wrong with an ID from a model; nil: nothing. IDs become keys of
// questions, fields of events and lines of texts. Those of a host may be any.
func idFault(id string) error {
	if err := text.IDFault(id); err != nil {
		return fmt.Errorf("id %w", err)
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
