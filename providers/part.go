package providers

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Limits of the parts of one request. Vendors have their own, lower ones.
const (
	MaxParts     = 100
	MaxPartBytes = 32 << 20 // bytes of all parts together
)

// Part is a piece of a message beside its text: an image, a document, or text between
// them. An image or document has either Data or URL.
type Part struct {
	Kind  PartKind `json:"kind"`            // kind of the part
	Text  string   `json:"text,omitempty"`  // text of a TextPart
	Data  []byte   `json:"data,omitempty"`  // the file itself
	URL   string   `json:"url,omitempty"`   // from where the vendor loads it: http or https
	Media string   `json:"media,omitempty"` // MIME type; needed with Data
	Name  string   `json:"name,omitempty"`  // name of a document, by which the model calls it; "": none
}

// PartKind says what a [Part] is.
type PartKind string

// The kinds of parts.
const (
	TextPart     PartKind = "text"
	ImagePart    PartKind = "image"    // PNG, JPEG, GIF or WebP
	DocumentPart PartKind = "document" // PDF, or plain text in UTF-8
)

var media = map[PartKind][]string{
	ImagePart:    {"image/png", "image/jpeg", "image/gif", "image/webp"},
	DocumentPart: {"application/pdf", "text/plain"},
}

// CheckParts returns every fault of the parts of messages joined into one error, or
// nil. It quotes none of them.
func CheckParts(messages []Message) error {
	var errs []error
	count, size := 0, 0
	for i, m := range messages {
		for j, p := range m.Parts {
			count++
			size += len(p.Data) + len(p.Text)
			err := p.check()
			if err == nil && m.Role != User && m.Role != ToolRole {
				err = fmt.Errorf("a message of role %q has no parts", m.Role)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("message %d, part %d: %w", i+1, j+1, err))
			}
		}
	}
	if count > MaxParts {
		errs = append(errs, fmt.Errorf("there are %d parts, want at most %d", count, MaxParts))
	}
	if size > MaxPartBytes {
		errs = append(errs, fmt.Errorf("the parts have %d bytes, want at most %d", size, MaxPartBytes))
	}
	return errors.Join(errs...)
}

// CloneParts returns a deep copy of parts.
func CloneParts(parts []Part) []Part {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Data = bytes.Clone(parts[i].Data)
	}
	return parts
}

func (p Part) check() error {
	types, file := media[p.Kind]
	switch {
	case p.Kind == TextPart && p.Text == "":
		return errors.New("the text is empty")
	case p.Kind == TextPart && (len(p.Data) > 0 || p.URL != ""):
		return errors.New("a text has neither Data nor URL")
	case p.Kind == TextPart:
		return nil
	case !file:
		return fmt.Errorf("unknown kind %q", string(p.Kind))
	case p.Text != "", (len(p.Data) > 0) == (p.URL != ""):
		return errors.New("want either Data or URL")
	case !slices.Contains(types, p.Media) && (len(p.Data) > 0 || p.Media != ""):
		return fmt.Errorf("media type of a %s is %q, want one of %s", p.Kind, p.Media, strings.Join(types, ", "))
	}
	if u, err := url.Parse(p.URL); p.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("the URL is not an absolute http or https URL")
	}
	return nil
}
