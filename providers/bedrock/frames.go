package bedrock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/aws/smithy-go/eventstream"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/claude"
	"github.com/convene-go/convene/providers/internal/wire"
)

// readFrames passes the events of an AWS event stream to add, until one is the last.
func readFrames(in io.Reader, add func(name string, data []byte) (last bool, err error)) error {
	decoder := eventstream.NewDecoder()
	for {
		m, err := decoder.Decode(in, nil)
		if errors.Is(err, io.EOF) { // not within a message, which is io.ErrUnexpectedEOF
			return nil
		}
		if err != nil {
			return fmt.Errorf("read stream: %w", err)
		}
		if said := saidIn(m); said != nil {
			return said
		}
		last, err := add(headerOf(m, ":event-type"), m.Payload)
		if err != nil || last {
			return err
		}
	}
}

// saidIn returns the error in an event, if it has one.
func saidIn(m eventstream.Message) *wire.Said {
	switch headerOf(m, ":message-type") {
	case "exception":
		said := &wire.Said{}
		_ = json.Unmarshal(m.Payload, said) // the code alone tells enough
		said.Code = headerOf(m, ":exception-type")
		return said
	case "error":
		return &wire.Said{Code: headerOf(m, ":error-code"), Message: headerOf(m, ":error-message")}
	}
	return nil
}

func headerOf(m eventstream.Message, name string) string {
	if v, ok := m.Headers.Get(name).(eventstream.StringValue); ok {
		return string(v)
	}
	return ""
}

// operation is the URL of a model's call, in one piece or as a stream. Streams need a
// permission of their own, which an account may not have.
type operation struct {
	base          string // the URL up to the operation
	whole, stream string
	memory        *wire.Memory
}

func (o operation) url() string {
	if o.memory.Knows("stream") {
		return o.base + o.whole
	}
	return o.base + o.stream
}

// concede records that streams are refused.
func (o operation) concede(status int, said *wire.Said) bool {
	refused := status == http.StatusForbidden && strings.Contains(said.Message, "Stream") ||
		status == http.StatusBadRequest && strings.Contains(said.Message, "does not support streaming")
	if refused {
		o.memory.Learn("stream", "")
	}
	return refused
}

// claudeTalk calls Anthropic's models by InvokeModel.
type claudeTalk struct {
	*claude.Talk
	operation
}

// Ask implements [wire.Talk].
func (t claudeTalk) Ask(a *wire.Answer) (string, []byte, error) {
	_, body, err := t.Talk.Ask(a)
	return t.url(), body, err
}

// Concede implements [wire.Talk].
func (t claudeTalk) Concede(status int, said *wire.Said) bool {
	return t.concede(status, said) || t.Talk.Concede(status, said)
}

// Frames implements [wire.Framed].
func (t claudeTalk) Frames(a *wire.Answer, in io.Reader) error {
	return readFrames(in, func(name string, data []byte) (bool, error) {
		if name != "chunk" {
			return false, nil
		}
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return false, fmt.Errorf("read event: %w", err)
		}
		return t.Event(a, name, chunk.Bytes)
	})
}

// talks returns the function that begins a call of the model.
func talks(s providers.Spec, base string, noCache bool) func(providers.Request) (wire.Talk, error) {
	memory := new(wire.Memory)
	family := s.Family
	if family == "" {
		family = s.Model
	}
	if !strings.Contains(family, "anthropic.") && !strings.HasPrefix(family, "claude") {
		o := operation{base: base, whole: "converse", stream: "converse-stream", memory: memory}
		cache := !noCache && caches.MatchString(family)
		return func(req providers.Request) (wire.Talk, error) {
			return &converse{operation: o, req: req, cache: cache}, nil
		}
	}
	model := claude.ModelOf(family)
	model.Format = false // the models that take one take the answer's tool as well, or none
	if model.MaxTokens = min(model.MaxTokens, maxTokens); model.MaxTokens < maxTokens {
		model.MaxTokens = fewTokens
	}
	service := &claude.Service{Provider: "bedrock/claude", Version: "bedrock-2023-05-31", Model: model, NoCache: noCache, Memory: memory}
	o := operation{base: base, whole: "invoke", stream: "invoke-with-response-stream", memory: memory}
	return func(req providers.Request) (wire.Talk, error) { return claudeTalk{service.Begin(req), o}, nil }
}

// caches matches the families whose prompts Converse can cache.
var caches = regexp.MustCompile(`(?:^|amazon\.)nova-`)

// The longest answers of Claude without MaxTokens: Bedrock reserves them from the
// account's quota.
const (
	maxTokens = 16_384
	fewTokens = 4_096 // before Claude 3.7
)
