package bedrock

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/aws/smithy-go/eventstream"
)

// errUnfinished is a stream without a stop reason: it broke off, or was broken off
// by the vendor.
var errUnfinished = errors.New("the stream ended without a stop reason")

// readStream reads a stream of events into r, and tells the texts in them.
func readStream(body io.Reader, d dialect, r *reply, onText func(string) error) error {
	in := bufio.NewReader(body)
	decoder := eventstream.NewDecoder()
	for {
		m, err := decoder.Decode(in, nil)
		if errors.Is(err, io.EOF) { // not within a message, which is io.ErrUnexpectedEOF
			break
		}
		if err != nil {
			return fmt.Errorf("read stream: %w", err)
		}
		if err := eventError(m); err != nil {
			return err
		}
		text, err := d.event(r, headerOf(m, ":event-type"), m.Payload)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		r.text.WriteString(text)
		if err := tell(onText, text); err != nil {
			return err
		}
	}
	if r.stop == "" {
		return errUnfinished
	}
	return nil
}

// eventError returns the error that an event reports, if it does.
func eventError(m eventstream.Message) error {
	switch headerOf(m, ":message-type") {
	case "exception":
		e := readVendorError(m.Payload)
		e.code = headerOf(m, ":exception-type")
		return e
	case "error":
		return vendorError{headerOf(m, ":error-code"), headerOf(m, ":error-message")}
	}
	return nil
}

func headerOf(m eventstream.Message, name string) string {
	if v, ok := m.Headers.Get(name).(eventstream.StringValue); ok {
		return string(v)
	}
	return ""
}
