package langchain

import (
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/providers"
)

// dialect is one wire format. langchaingo writes a request and reads the text of
// its answer; the dialect mends the one and reads the rest of the other.
type dialect interface {
	// patch returns what to replace in the body of a request, by field; nil stands
	// for nothing there.
	patch(ex *exchange, body fields) (object, error)

	// read reads as much of an answer as is readable.
	read(ex *exchange, body []byte) wire

	// stream returns what puts a streamed answer together.
	stream() assembler
}

// fields are those of a JSON object, as they came.
type fields map[string]json.RawMessage

type object map[string]any

// wire is what langchaingo leaves out of an answer, reads wrongly, or loses with
// an error.
type wire struct {
	refusal string
	calls   []providers.ToolCall
	usage   providers.Usage
	fault   vendorSays
	plain   []byte // the answer as langchaingo can read it; nil: as it came
	err     error  // the answer cannot be read, of which the usage may be known
}

// assembler puts a streamed answer together.
type assembler interface {
	// add takes the data of one event, passes its text to tell, and says whether
	// it was the last one.
	add(data []byte, tell func(string) error) (last bool, err error)

	// finished says whether the answer is whole.
	finished() bool

	// body returns the answer as if it had not been streamed.
	body() object
}

// patched returns the body of a request as ex wants it. Values that are not
// replaced keep their bytes: the order of a schema's fields is the order in which
// a model fills them in.
func patched(ex *exchange, data []byte) ([]byte, error) {
	var body fields
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	changes, err := ex.model.vendor.dialect.patch(ex, body)
	if err != nil {
		return nil, err
	}
	out := make(object, len(body)+len(changes))
	for name, value := range body {
		out[name] = value
	}
	for name, value := range changes {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	data, err = json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	return data, nil
}

// counted returns u, or nothing if it holds a count that nobody can have meant:
// then the call has no known cost.
func counted(u providers.Usage) providers.Usage {
	for _, tokens := range []int64{u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite} {
		if tokens < 0 || tokens > 1<<40 {
			return providers.Usage{}
		}
	}
	return u
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
