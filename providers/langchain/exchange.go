package langchain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/convene-go/convene/providers"
)

// exchange is one call: what it asks for, and what the transport saw. It is used
// by one goroutine, since http.Client runs the transport in the caller's.
type exchange struct {
	model  *model
	req    providers.Request
	typed  typed
	forget bool // the vendor does not want to see again what it thought
	stamp  bool // it wants a thought's signature on calls of other vendors

	inCallback bool // in the caller's OnText
	streamed   bool // the answer came as a stream
	sent       bool
	status     int // 0: none came
	header     http.Header
	body       []byte // of an error the beginning; of a stream put together
	wire       wire   // what body says
	err        error  // why there is no whole body
}

type exchangeKey struct{}

func newExchange(m *model, req providers.Request) *exchange {
	ex := &exchange{model: m, req: req}
	if req.Output != nil {
		ex.typed = m.vendor.typed(m, req)
	}
	return ex
}

// streams says whether the answer is to be streamed. Tool calls are not: vendors
// cut them into pieces in several ways. Nor is what changes before the caller sees
// it.
func (ex *exchange) streams() bool {
	return ex.req.OnText != nil && len(ex.req.Tools) == 0 && ex.typed.tool == "" && !ex.typed.widened
}

// reset forgets what the transport saw, before it sends.
func (ex *exchange) reset() {
	ex.sent, ex.streamed = true, false
	ex.status, ex.header, ex.body, ex.wire = 0, nil, nil, wire{}
}

// ok says whether the status is one of an answer.
func (ex *exchange) ok() bool { return ex.status >= 200 && ex.status <= 299 }

// tell passes text to the caller's OnText.
func (ex *exchange) tell(text string) error {
	ex.inCallback = true
	err := ex.req.OnText(text)
	ex.inCallback = false
	if err != nil {
		return fmt.Errorf("%w: %w", errCallback, err)
	}
	return nil
}

// extra is what one provider wants to see again: a thought of which it has the
// signature. Another provider would refuse it.
type extra struct {
	Provider string          `json:"provider"`
	Content  json.RawMessage `json:"content"`
}

// remember returns what a tool call has to bring back, nil if there is nothing.
func (ex *exchange) remember(content json.RawMessage) json.RawMessage {
	if !ex.model.vendor.extras || !isSet(content) {
		return nil
	}
	data, err := json.Marshal(extra{ex.model.spec.Provider, content})
	if err != nil {
		panic("langchain: what was read as JSON is none") // impossible
	}
	return data
}

// seenAgain returns what remember was given for c, if this provider gave it.
func (ex *exchange) seenAgain(c providers.ToolCall) json.RawMessage {
	var e extra
	if ex.forget || !ex.model.vendor.extras || len(c.Extra) == 0 || json.Unmarshal(c.Extra, &e) != nil {
		return nil
	}
	if e.Provider != ex.model.spec.Provider {
		return nil
	}
	return e.Content
}

// newID returns the ID of the i-th tool call of an answer, for vendors that give
// none. It is unique in the conversation.
func (ex *exchange) newID(i int) string { return fmt.Sprintf("call_%d_%d", len(ex.req.Messages), i) }

var (
	aboutFormat = regexp.MustCompile(`(?i)response[_ ]?(?:format|mime[_ ]?type|schema)|json_schema|output_config|output_format|structured outputs?`)
	unsupported = regexp.MustCompile(`(?i)not (?:yet )?(?:supported|permitted|allowed|available)|(?:does|do)(?:n't| not) (?:yet )?support|` +
		`unsupported|unrecognized|unknown (?:field|name|parameter|argument)|extra inputs`)
	badSchema   = regexp.MustCompile(`(?i)invalid schema|in context=`)
	badThoughts = regexp.MustCompile("(?i)(?:invalid|corrupted) [`'\"]?(?:thought[ _])?signature|bound to a different conversation|thinking.{0,40} blocks?.{0,80}cannot be modified")
	noSignature = regexp.MustCompile("(?i)missing an? [`'\"]?thought_signature")
)

// concede looks at a refusal and says whether to ask once more: without a parameter
// that the vendor does not take, of which the schema then goes into the prompt;
// without thoughts of a conversation that has changed since; or with the mark of
// tool calls that have no thought.
func (ex *exchange) concede() bool {
	if ex.status != http.StatusBadRequest && ex.status != http.StatusUnprocessableEntity {
		return false
	}
	says, v := readVendorError(ex.body).Message, ex.model.vendor
	switch {
	case ex.typed.format != nil && aboutFormat.MatchString(says) && unsupported.MatchString(says) && !badSchema.MatchString(says):
		ex.typed = typedByPrompt(ex.req)
	case !ex.forget && v.extras && badThoughts.MatchString(says):
		ex.forget = true
	case !ex.stamp && v.unsigned != "" && noSignature.MatchString(says):
		ex.stamp = true
	default:
		return false
	}
	return true
}
