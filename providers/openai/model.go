package openai

import (
	"encoding/json"
	"regexp"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/schema"
	"github.com/convene-go/convene/providers/internal/wire"
)

// model is one model of one vendor. All fields are set once.
type model struct {
	spec   providers.Spec
	vendor vendor
	memory *wire.Memory
	route  wire.Route // where the operations are, but for Azure's
}

// begin returns a call's conversation with the vendor.
func (m *model) begin(req providers.Request) (wire.Talk, error) {
	if !m.vendor.openai {
		req.Messages = wire.InOrder(req.Messages)
	}
	c := &call{model: m, req: req}
	c.Talk = &chat{call: c}
	if m.wantsResponses() {
		c.Talk = &responses{call: c}
	}
	if req.Output != nil {
		c.typed = m.vendor.typed(m, req)
		if c.typed.kind != "" && m.memory.Knows(c.formatName()) {
			c.typed = typedByPrompt(req)
		}
	}
	return c, nil
}

// call is one request, in the format that Talk speaks.
type call struct {
	wire.Talk
	model  *model
	req    providers.Request
	typed  typed
	sent   []byte
	asked  string // the effort in it
	base   string // URL of the route that was asked
	forget bool   // do not send thoughts back to the vendor
	stamp  bool   // calls of other vendors need a placeholder
}

// prepare prepares a for the answer.
func (c *call) prepare(a *wire.Answer) {
	if c.typed.widened {
		a.Nulls = schema.NewNulls(c.req.Output)
	}
}

// formatName is the name in the memory of a refused parameter for a schema: some vendors
// refuse it only beside tools.
func (c *call) formatName() string {
	if len(c.req.Tools) > 0 {
		return c.typed.kind + " with tools"
	}
	return c.typed.kind
}

var (
	wantsResponses = regexp.MustCompile(`(?i)/v1/responses|\bresponses API\b|only supported in v1/responses`)
	wantsSignature = regexp.MustCompile("(?i)missing an? [`'\"]?thought_signature")
	wantsReasoning = regexp.MustCompile(`(?i)reasoning_content.{0,60}(?:must be passed back|is missing|required)|missing.{0,20}reasoning_content`)
)

// Concede implements [wire.Talk] for both formats.
func (c *call) Concede(status int, said *wire.Said) bool {
	m := c.model
	if _, isChat := c.Talk.(*chat); isChat && status >= 400 && status <= 404 && wantsResponses.MatchString(said.Message) {
		switch {
		case m.spec.API == "" && m.vendor.responses:
			m.memory.Learn("chat completions", "responses")
			c.Talk = &responses{call: c}
			return true
		case said.Param == "reasoning_effort": // tools together with an effort
			m.memory.Learn("effort with tools", "none")
			return true
		}
	}
	if m.route.Concede(c.base, status, said) {
		return true
	}
	if !wire.RefusesRequest(status) {
		return false
	}
	switch {
	case c.typed.kind != "" && said.RefusesFormat():
		m.memory.Learn(c.formatName(), "")
		c.typed = typedByPrompt(c.req)
		return true
	case !c.forget && said.RefusesThoughts():
		c.forget = true
		return true
	case !c.stamp && (m.vendor.unsigned != "" && wantsSignature.MatchString(said.Message) || wantsReasoning.MatchString(said.Message)):
		c.stamp = true
		return true
	}
	return c.leaveOut(said)
}

// effortNames are the parameters for an effort.
var effortNames = map[string]bool{"reasoning_effort": true, "reasoning.effort": true, "reasoning": true}

// leaveOut records which parameter the vendor does not take.
func (c *call) leaveOut(said *wire.Said) bool {
	param := said.RefusedParam(c.sent, "temperature", "top_p", "stop", "seed", "reasoning_effort", "reasoning.effort", "reasoning",
		"stream_options", "max_tokens", "max_completion_tokens", "include", "thinking", "prompt_cache_key")
	m := c.model
	switch {
	case param == "":
		return false
	case param == "max_tokens":
		m.memory.Learn(param, "max_completion_tokens")
	case param == "max_completion_tokens":
		m.memory.Learn(param, "max_tokens")
	case effortNames[param]:
		m.memory.Learn("effort "+c.asked, wire.Nearest(c.asked, said.SupportedValues()))
	default:
		m.memory.Learn(param, "")
	}
	return true
}

// effort returns the vendor's word for the request's effort, "" for none.
func (c *call) effort() string {
	m := c.model
	if _, known := m.memory.Instead("effort with tools"); known && len(c.req.Tools) > 0 {
		if _, isChat := c.Talk.(*chat); isChat {
			return "none"
		}
	}
	word := string(c.req.Effort)
	if c.req.Effort == providers.EffortMax {
		word = m.vendor.most
	}
	if other, refused := m.memory.Instead("effort " + word); refused {
		return other
	}
	return word
}

// sampling says whether a parameter for sampling is sent.
func (c *call) sampling(name string) bool {
	known := c.model.reasons() && c.req.Effort != providers.EffortNone
	return !known && !c.model.memory.Knows(name)
}

// temperature and topP return what is sent.
func (c *call) temperature() *float64 {
	if !c.sampling("temperature") {
		return nil
	}
	return c.req.Temperature
}

func (c *call) topP() *float64 {
	if !c.sampling("top_p") {
		return nil
	}
	return c.req.TopP
}

// seenAgain decodes what must be sent back to the vendor with a call.
func (c *call) seenAgain(t providers.ToolCall, into any) bool {
	if c.forget {
		return false
	}
	data := wire.SeenAgain(c.model.spec.Provider, t)
	return data != nil && json.Unmarshal(data, into) == nil
}
