package langchain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
)

// model is one model of one vendor. All fields are set once.
type model struct {
	spec    providers.Spec
	vendor  vendor
	timeout time.Duration
	redact  redactor
	llm     llms.Model
}

var errUnusable = errors.New("the answer has neither text nor tool calls")

// Generate makes one attempt.
func (m *model) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	if err := checkRequest(req); err != nil {
		return providers.Response{}, m.fault(req, &providers.Error{Kind: providers.Invalid, Message: err.Error(), Err: err})
	}
	attempt, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	ex := newExchange(m.vendor, req)
	answer, err := m.call(context.WithValue(attempt, exchangeKey{}, ex), ex, req)
	if err == nil {
		var resp providers.Response
		if resp, err = m.answer(answer, ex, req); err == nil {
			return resp, nil
		}
	}
	return providers.Response{}, m.fault(req, m.classify(ctx, attempt, ex, err))
}

// call asks langchaingo, which panics at some answers.
func (m *model) call(ctx context.Context, ex *exchange, req providers.Request) (answer *llms.ContentResponse, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if ex.inCallback {
			panic(p) // the caller's own
		}
		answer, err = nil, fmt.Errorf("the answer cannot be read: %v", p)
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.llm.GenerateContent(ctx, messages(req), options(req)...)
}

// answer puts together what langchaingo read and what it leaves out.
func (m *model) answer(answer *llms.ContentResponse, ex *exchange, req providers.Request) (providers.Response, error) {
	wire := readWire(ex.body)
	if wire.Error.present() {
		return providers.Response{}, errVendor
	}
	resp := providers.Response{Usage: wire.Usage.usage(), Model: m.spec.String()}
	if len(answer.Choices) == 0 || answer.Choices[0] == nil {
		return providers.Response{}, errUnusable
	}
	choice := answer.Choices[0]
	resp.Text = choice.Content
	resp.ToolCalls = toolCalls(choice.ToolCalls, wire.extras(), len(req.Messages))
	resp.Stop = stopOf(choice.StopReason, resp)
	if refusal := wire.refusal(); refusal != "" {
		resp.Text, resp.ToolCalls, resp.Stop = refusal, nil, providers.StopFilter
	}
	empty := resp.Text == "" && len(resp.ToolCalls) == 0
	if empty && resp.Stop != providers.StopLength && resp.Stop != providers.StopFilter {
		return providers.Response{}, errUnusable
	}
	if req.OnText != nil && !ex.streamed && choice.Content != "" {
		if err := ex.tell(choice.Content); err != nil {
			return providers.Response{}, err
		}
	}
	return resp, nil
}

// fault fills in what every error of m says, without secrets.
func (m *model) fault(req providers.Request, e *providers.Error) *providers.Error {
	e.Model = m.redact.clean(m.spec.String())
	e.Message = short(m.redact.clean(withoutPrompt(e.Message, req)))
	e.Err = causeError{text: m.redact.clean(e.Err.Error()), err: e.Err}
	return e
}
