package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/convene-go/convene/orchestrator/agent"
)

// normalize gives resp the form that it has when it is read back from a log, so
// that a flow sees the same now and at a replay.
func normalize(resp agent.Response) (agent.Response, error) {
	if resp.Data == nil && resp.Messages == nil && utf8.ValidString(resp.Text) {
		return resp, nil
	}
	data, err := Encode(resp)
	if err != nil {
		return agent.Response{Usage: resp.Usage}, fmt.Errorf("%w: the agent's response has no JSON form: %w", ErrMalformed, err)
	}
	var out agent.Response
	if err := json.Unmarshal(data, &out); err != nil {
		return agent.Response{Usage: resp.Usage}, fmt.Errorf("%w: the agent's response does not survive JSON: %w", ErrMalformed, err)
	}
	return out, nil
}

// normalizeError is normalize for an error. It returns a copy.
func normalizeError(err *agent.Error) *agent.Error {
	var out agent.Error
	if json.Unmarshal(agent.JSON(err), &out) != nil { // cannot be: it is plain data
		out = *err
	}
	return &out
}

// Encode is JSON as engines record it: without escapes for HTML, which would
// change a json.RawMessage inside v on its way through a log.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
