package langchain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/network"
	"github.com/convene-go/convene/providers/internal/redact"
	"github.com/convene-go/convene/providers/internal/wire"
)

// Model makes a providers.Model from a model of langchaingo. It has no name: put it
// into a [providers.Metered], whose Spec names and prices it. List keys that errors must
// not contain in secrets.
//
// Its quality depends on langchaingo's client. A status is found in the text of an error
// if the client writes one there, RetryAfter is not. Some clients hide that a context is
// done, accept half a stream as a whole answer, have no limit on what they read, or
// panic, which is a Transient error here. With Tools nothing is streamed, a schema is put
// into the prompt, Params.Extra, Effort and ToolCall.Extra are left out, and a Temperature
// of 0 is the same as none.
func Model(m llms.Model, secrets ...string) providers.Model {
	return &model{llm: m, redact: redact.New(secrets...)}
}

type model struct {
	llm    llms.Model
	redact redact.Redactor
}

var errCallback = errors.New("OnText ended the call")

// Generate makes one attempt.
func (m *model) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	if err := wire.Check(req); err != nil {
		return providers.Response{}, wire.Fault(m.redact, req, &providers.Error{Kind: providers.Invalid, Message: err.Error(), Err: err})
	}
	told := &telling{onText: req.OnText}
	answer, err := m.ask(ctx, req, told)
	if err == nil {
		var resp providers.Response
		if resp, err = response(answer, req, told); err == nil {
			return resp, nil
		}
	}
	return providers.Response{}, wire.Fault(m.redact, req, classify(ctx, err))
}

// Clean implements [providers.Cleaner].
func (m *model) Clean(text string) string { return m.redact.Clean(text) }

// telling passes chunks to the caller's OnText.
type telling struct {
	onText func(string) error
	any    bool
	err    error
	inside bool
}

func (t *telling) chunk(_ context.Context, chunk []byte) error {
	if len(chunk) == 0 {
		return nil
	}
	t.any, t.inside = true, true
	err := t.onText(string(chunk))
	t.inside = false
	if err != nil {
		t.err = fmt.Errorf("%w: %w", errCallback, err)
	}
	return t.err
}

// ask calls langchaingo, which panics at some answers.
func (m *model) ask(ctx context.Context, req providers.Request, told *telling) (answer *llms.ContentResponse, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if told.inside {
			panic(p) // the caller's own
		}
		answer, err = nil, fmt.Errorf("the answer cannot be read: %v", p)
	}()
	if err := errors.Join(ctx.Err(), network.Check("langchaingo")); err != nil {
		return nil, err
	}
	messages := wire.InOrder(req.Messages)
	if req.Output != nil {
		messages = append([]providers.Message{{Role: providers.System, Text: wire.Prompted(req.Output)}}, messages...)
	}
	answer, err = m.llm.GenerateContent(ctx, toLangchain(messages), options(req, told)...)
	switch {
	case ctx.Err() != nil: // some clients hide it
		return nil, ctx.Err()
	case told.err != nil:
		return nil, told.err
	}
	return answer, err
}

func options(req providers.Request, told *telling) []llms.CallOption {
	var out []llms.CallOption
	if len(req.Tools) > 0 {
		tools := make([]llms.Tool, len(req.Tools))
		for i, t := range req.Tools {
			tools[i] = llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
				Name: t.Name, Description: t.Description, Parameters: json.RawMessage(wire.InputOf(t)),
			}}
		}
		out = append(out, llms.WithTools(tools))
	}
	switch choice := req.ToolChoice; choice {
	case "":
	case "none", "required":
		out = append(out, llms.WithToolChoice(choice))
	default:
		out = append(out, llms.WithToolChoice(llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: choice}}))
	}
	if req.MaxTokens > 0 {
		out = append(out, llms.WithMaxTokens(req.MaxTokens))
	}
	if req.Temperature != nil {
		out = append(out, llms.WithTemperature(*req.Temperature))
	}
	if req.TopP != nil {
		out = append(out, llms.WithTopP(*req.TopP))
	}
	if len(req.Stop) > 0 {
		out = append(out, llms.WithStopWords(req.Stop))
	}
	if req.Seed != nil {
		out = append(out, llms.WithSeed(int(*req.Seed)))
	}
	if req.OnText != nil && len(req.Tools) == 0 {
		out = append(out, llms.WithStreamingFunc(told.chunk))
	}
	return out
}

// response combines the choices of an answer: some clients make one of each part.
func response(answer *llms.ContentResponse, req providers.Request, told *telling) (providers.Response, error) {
	var resp providers.Response
	if answer == nil {
		return resp, errors.New("there is no answer")
	}
	reason := ""
	for _, c := range answer.Choices {
		if c == nil {
			continue
		}
		resp.Text += c.Content
		reason = cmp.Or(c.StopReason, reason)
		if resp.Usage == (providers.Usage{}) {
			resp.Usage = usage(c.GenerationInfo)
		}
		for _, t := range c.ToolCalls {
			call := callIn(t)
			call.ID = cmp.Or(call.ID, fmt.Sprintf("call_%d_%d", len(req.Messages), len(resp.ToolCalls)))
			if len(call.Input) == 0 || string(call.Input) == `""` {
				call.Input = json.RawMessage("{}")
			}
			resp.ToolCalls = append(resp.ToolCalls, call)
		}
	}
	resp.Stop = wire.StopOf(reason, resp)
	switch {
	case resp.Text == "" && len(resp.ToolCalls) == 0 && resp.Stop != providers.StopLength && resp.Stop != providers.StopFilter:
		return resp, errors.New("the answer has neither text nor tool calls")
	case req.OnText == nil || told.any || resp.Text == "" || resp.Stop == providers.StopFilter:
		return resp, nil
	}
	return resp, told.chunk(context.Background(), []byte(resp.Text))
}

// usage reads the counts of a client; each client has its own names for them.
func usage(info map[string]any) providers.Usage {
	n := func(names ...string) int64 {
		for _, name := range names {
			if v, err := strconv.ParseInt(fmt.Sprint(info[name]), 10, 64); err == nil && v > 0 {
				return v
			}
		}
		return 0
	}
	u := providers.Usage{
		Input: n("PromptTokens", "InputTokens", "input_tokens"), Output: n("CompletionTokens", "OutputTokens", "output_tokens"),
		CacheRead: n("PromptCachedTokens", "CacheReadInputTokens"), CacheWrite: n("CacheCreationInputTokens"), Reasoning: n("ReasoningTokens", "CompletionReasoningTokens"),
	}
	if _, apart := info["CacheReadInputTokens"]; apart { // Anthropic counts cached tokens apart
		u.Input += u.CacheRead + u.CacheWrite
	}
	return wire.Counted(u)
}

var statusInText = regexp.MustCompile(`(?i)status(?: code)?:? (\d{3})\b`)

// statuses are the HTTP statuses for langchaingo's codes.
var statuses = map[llms.ErrorCode]int{
	llms.ErrCodeAuthentication: 401, llms.ErrCodeRateLimit: 429, llms.ErrCodeInvalidRequest: 400, llms.ErrCodeResourceNotFound: 404,
	llms.ErrCodeTimeout: 504, llms.ErrCodeQuotaExceeded: 402, llms.ErrCodeTokenLimit: 413, llms.ErrCodeProviderUnavailable: 503,
	llms.ErrCodeContentFilter: 400, llms.ErrCodeNotImplemented: 400,
}

// classify returns the error of a call, as far as langchaingo's error tells.
func classify(ctx context.Context, err error) *providers.Error {
	var coded *llms.Error
	var ours *providers.Error
	switch {
	case errors.As(err, &ours): // err comes from a model behind LLM
		e := *ours
		e.Err = err
		return &e
	case ctx.Err() != nil:
		return &providers.Error{Kind: providers.Canceled, Message: ctx.Err().Error(), Err: errors.Join(ctx.Err(), context.Cause(ctx), err)}
	case errors.Is(err, errCallback):
		return &providers.Error{Kind: providers.Canceled, Message: errCallback.Error(), Err: err}
	case errors.Is(err, network.ErrBlocked):
		return &providers.Error{Kind: providers.Permanent, Message: err.Error(), Err: err}
	}
	status := 0
	if m := statusInText.FindStringSubmatch(err.Error()); m != nil {
		status, _ = strconv.Atoi(m[1]) // digits
	} else if errors.As(err, &coded) {
		status = statuses[coded.Code]
	}
	e := wire.ErrorOf(status, strings.TrimSpace(err.Error()))
	if coded != nil && coded.Code == llms.ErrCodeContentFilter {
		e.Reason = providers.Refused
	}
	e.Err = err
	return e
}
