package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// shape is how the body of an answer is written.
type shape int

const (
	unclear shape = iota // the label decides
	whole                // one JSON value
	events               // server-sent events
	frames               // frames of the vendor's own: see Framed
	markup               // HTML or XML, which no model writes around its answer
)

// Framed is a [Talk] whose streams have frames of the vendor's own. A frame begins with
// a zero byte.
type Framed interface {
	Frames(a *Answer, in io.Reader) error
}

// read reads the answer. Its content says what it is: many gateways label streams as
// JSON, answers as streams, and pages as anything. The label decides where the content
// does not.
func (m *Model) read(ex *exchange, talk Talk, body io.Reader) error {
	in := bufio.NewReader(body)
	label, _, _ := mime.ParseMediaType(ex.header.Get("Content-Type"))
	is := shapeOf(in)
	if is == unclear {
		is = shapeBy(label)
	}
	framed, hasFrames := talk.(Framed)
	switch {
	case is == markup:
		return m.readPage(ex, label, in)
	case is == whole:
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return talk.Whole(&ex.answer, data)
	case is == frames && hasFrames:
		ex.streamed = true
		return ex.finished(framed.Frames(&ex.answer, in))
	}
	ex.streamed = true
	return ex.finished(readEvents(in, m.options.MaxBody, func(name string, data []byte) (bool, error) {
		return talk.Event(&ex.answer, name, data)
	}))
}

func (ex *exchange) finished(err error) error {
	if err == nil && ex.answer.Stop == "" {
		return errUnfinished
	}
	return err
}

// shapeOf returns what the body is by its first characters. It skips a byte order mark
// and white space: some servers send empty lines while the model thinks.
func shapeOf(in *bufio.Reader) shape {
	if head, _ := in.Peek(1); len(head) > 0 && head[0] == 0xef {
		if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
			_, _ = in.Discard(3)
		}
	}
	for {
		head, err := in.Peek(1)
		if err != nil {
			return unclear
		}
		switch head[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = in.Discard(1)
			continue
		case '{', '[':
			return whole
		case 0:
			return frames
		case '<':
			return markup
		case ':':
			return events
		}
		return shapeOfLine(in)
	}
}

// shapeOfLine tells a stream of events by the name of its first field.
func shapeOfLine(in *bufio.Reader) shape {
	for _, field := range []string{"data:", "event:", "id:", "retry:"} {
		for n := 1; ; n++ { // no byte more than needed: the next one may take minutes
			head, err := in.Peek(n)
			if err != nil || head[n-1] != field[n-1] {
				break
			}
			if n == len(field) {
				return events
			}
		}
	}
	return unclear
}

// shapeBy returns what a label, a media type, says that the body is.
func shapeBy(label string) shape {
	switch {
	case strings.Contains(label, "event-stream"):
		return events
	case strings.Contains(label, "eventstream"):
		return frames
	case strings.Contains(label, "json"):
		return whole
	case strings.Contains(label, "html"), strings.Contains(label, "xml"):
		return markup
	}
	return events
}

// pageError says that a page came in place of an answer: that of a login, of a captive
// portal, of a proxy. Nobody was paid for it, and it comes again.
type pageError struct{ label, path, words string }

func (e pageError) Error() string {
	text := fmt.Sprintf("the answer of %s is %s, not a model's", e.path, e.label)
	if e.words != "" {
		text += fmt.Sprintf("; it begins %q", e.words)
	}
	return text + ": check the base URL, and logins or proxies on the way"
}

var (
	unseen = regexp.MustCompile(`(?is)<(script|style|svg)\b.*?(</(script|style|svg)>|$)|<!--.*?(-->|$)`)
	tags   = regexp.MustCompile(`(?s)<[^>]*(>|$)`)
)

// readPage returns the pageError of a body, with its first words.
func (m *Model) readPage(ex *exchange, label string, in io.Reader) error {
	data, _ := io.ReadAll(io.LimitReader(in, maxErrorBody)) // its beginning says enough
	if !strings.Contains(label, "html") && !strings.Contains(label, "xml") {
		label, _, _ = mime.ParseMediaType(http.DetectContentType(bytes.TrimSpace(data)))
	}
	const words = 80 // runes
	text := unseen.ReplaceAllString(m.redactor(ex).Clean(string(data)), " ")
	text = short(tags.ReplaceAllString(text, " "))
	if runes := []rune(text); len(runes) > words {
		text = string(runes[:words]) + "..."
	}
	return pageError{label: label, path: ex.path(), words: text}
}

// hearing reports each received piece.
type hearing struct {
	r  io.Reader
	ex *exchange
}

func (h *hearing) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if n > 0 {
		h.ex.silence.heard()
		h.ex.received += int64(n)
	}
	return n, err
}

// limitedReader fails with errTooBig after left bytes, where io.LimitReader would
// return io.EOF.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooBig
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1] // one more, to see whether there is more
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, errTooBig
	}
	return n, err
}
