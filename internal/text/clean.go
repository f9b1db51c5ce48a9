package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/internal/nfc"
)

// newlines are the line ends that Newlines replaces.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Newlines returns s with \n for each \r\n and each \r. Texts that people give are cleaned so
// before anything else is done with them.
func Newlines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return newlines.Replace(s)
}

// Fold returns s in lower case and in Unicode's form NFC. Texts that differ only in case or
// in how an accent is written have the same one.
func Fold(s string) string {
	return nfc.String(strings.ToLower(strings.ToUpper(nfc.String(s)))) // lower case only would keep σ and ς apart
}

// Fault returns why s is no text for people and models, or nil: it is not UTF-8 (also U+FFFD,
// which JSON has made of what was not), it has a control character other than tab and newline,
// or it has characters of which none can be seen. The error names the first fault by its line
// and its character, both from 1. An empty s has no fault.
func Fault(s string) error {
	line, column, seen := 1, 0, false
	for _, r := range s {
		column++
		if r == utf8.RuneError {
			return fmt.Errorf("line %d, character %d is not UTF-8", line, column)
		}
		switch {
		case r == '\n':
			line, column = line+1, 0
		case unicode.IsControl(r) && r != '\t':
			return fmt.Errorf("line %d, character %d is %U, a control character", line, column, r)
		}
		seen = seen || visible(r)
	}
	if s != "" && !seen {
		return fmt.Errorf("it has %d characters, and none that can be seen", utf8.RuneCountInString(s))
	}
	return nil
}

// IsBlank reports whether s has no character that can be seen.
func IsBlank(s string) bool { return !strings.ContainsFunc(s, visible) }

// visible reports whether r shows something by itself. Marks, such as accents, stand on
// another character; the fillers of Hangul are letters and show nothing.
func visible(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800':
		return false
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.IsMark(r)
}

// NameFault is [Fault] for names and IDs that people give: these have no tab and no newline
// either.
func NameFault(s string) error {
	if at := strings.IndexAny(s, "\t\n\r"); at >= 0 {
		return fmt.Errorf("character %d is %U, which no name has", utf8.RuneCountInString(s[:at])+1, s[at])
	}
	return Fault(s)
}

// MaxID is the number of characters of the longest ID that a model may give.
const MaxID = 128

// IDFault returns why s is no ID that a model may give, or nil: an ID has at most MaxID
// letters, digits and characters of "-_.:/". An empty s has no fault.
func IDFault(s string) error {
	n := 0
	for _, r := range s {
		n++
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/", r) {
			return fmt.Errorf("has %q at character %d, want letters, digits and -_.:/ only", r, n)
		}
	}
	if n > MaxID {
		return fmt.Errorf("has %d characters, want at most %d", n, MaxID)
	}
	return nil
}
