package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// MaxData is how many bytes the Data of one record may have. Larger Data is ErrTooLarge on
// every engine.
const MaxData = 64 << 20

// Encode returns v as JSON in the form in which engines record it: without escapes for
// HTML, which would change a json.RawMessage inside v on its way through a log. More than
// [MaxData] bytes are ErrTooLarge.
func Encode(v any) (json.RawMessage, error) {
	data, err := text.JSON(v)
	if len(data) > MaxData {
		return nil, TooLarge(len(data))
	}
	return data, err
}

// LargeAnswer is the number of bytes from which EncodeCalled saves memory.
const LargeAnswer = 64 << 10

// EncodeCalled is [Encode] for what a call came to. Its Response is in normal form (see
// [Task]). A large answer is written once, into a buffer of its size.
func EncodeCalled(d *CalledData) (json.RawMessage, error) {
	if d.Response == nil || len(d.Response.Text)+len(d.Response.Data) < LargeAnswer {
		return Encode(d)
	}
	short, rest := *d, *d.Response
	short.Response, rest.Text, rest.Data = &rest, "", nil
	small, err := Encode(short)
	if err != nil {
		return nil, err
	}
	at := len(`{"response":{`) // Text and Data are its first fields
	said := d.Response.Text
	size := len(small) + len(said) + len(d.Response.Data) + 64
	for _, escaped := range []string{"\"", "\\", "\n", "\r", "\t"} {
		size += strings.Count(said, escaped)
	}
	b := append(make([]byte, 0, size), small[:at]...)
	if said != "" {
		b = append(text.AppendJSON(append(b, `"text":`...), said), ',')
	}
	if d.Response.Data != nil {
		b = append(append(append(b, `"data":`...), d.Response.Data...), ',')
	}
	if small[at] == '}' { // there is nothing else
		b = b[:len(b)-1]
	}
	if b = append(b, small[at:]...); len(b) > MaxData {
		return nil, TooLarge(len(b))
	}
	return b, nil
}

// TooLarge returns the error of a value that has so many bytes of JSON, which are more than
// [MaxData].
func TooLarge(bytes int) error {
	return fmt.Errorf("%w: %d bytes of JSON, at most %d can be recorded", ErrTooLarge, bytes, MaxData)
}

// normalize puts resp in the form that it has when it is read back from a log, so that a
// flow sees the same now and at a replay. A usage below zero and JSON that is none are
// ErrMalformed.
func normalize(resp *agent.Response) error {
	if resp.Usage.Negative() {
		resp.Usage = providers.Usage{}
		return fmt.Errorf("%w: the agent reports a usage below zero", ErrMalformed)
	}
	resp.Text = strings.ToValidUTF8(resp.Text, "\ufffd")
	if len(resp.Data) == 0 {
		resp.Data = nil
	} else if err := compact(&resp.Data); err != nil {
		return fmt.Errorf("%w: Response.Data: %w", ErrMalformed, err)
	}
	if len(resp.Messages) == 0 {
		resp.Messages = nil
		return nil
	}
	data, err := Encode(resp.Messages)
	if err != nil {
		return fmt.Errorf("%w: Response.Messages have no JSON form: %w", ErrMalformed, err)
	}
	var messages []providers.Message // the caller's stay as they are
	if err := json.Unmarshal(data, &messages); err != nil {
		return fmt.Errorf("%w: Response.Messages do not survive JSON: %w", ErrMalformed, err)
	}
	resp.Messages = messages
	return nil
}

// compact replaces *data by its compact form.
func compact(data *json.RawMessage) error {
	var short bytes.Buffer
	if err := json.Compact(&short, *data); err != nil {
		return errors.New("it is not JSON: " + err.Error())
	}
	*data = short.Bytes()
	return nil
}

// normalizeError returns a copy of err in the form that it has when it is read back from a
// log. It has no codes that only an engine may set.
func normalizeError(err *agent.Error) *agent.Error {
	out := *err
	out.Message = strings.ToValidUTF8(err.Message, "\ufffd")
	out.Stack = strings.ToValidUTF8(err.Stack, "\ufffd")
	out.Codes = nil
	for _, c := range err.Codes {
		if c != ErrOver && c != ErrChildOver && c != ErrRule && c != ErrLeft {
			out.Codes = append(out.Codes, agent.Code(strings.ToValidUTF8(string(c), "\ufffd")))
		}
	}
	return &out
}
