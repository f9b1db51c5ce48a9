package cassette

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/providers"
)

// version is that of the format. The first one had complete tools in its requests.
const version = 2

// line is one call, or a list of tools.
type line struct {
	V     int             `json:"v"`
	Key   string          `json:"key,omitempty"` // hash of Model and Req, by which the call is found
	Model string          `json:"model,omitempty"`
	Req   json.RawMessage `json:"req,omitempty"` // the request, clean, with sorted members
	Resp  *response       `json:"resp,omitempty"`
	Err   *failure        `json:"err,omitempty"`

	List  string `json:"list,omitempty"` // name that the host gave to a list of Tools
	Tools []tool `json:"tools,omitempty"`

	n int // number of the line in its file, from 1
}

// request is a providers.Request without OnText, which does not change the answer.
type request struct {
	Messages    []message       `json:"messages"`
	Tools       []named         `json:"tools,omitempty"`
	ToolChoice  string          `json:"toolChoice,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	MaxTokens   int             `json:"maxTokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	providers.Params
}

type message struct {
	Role      providers.Role `json:"role"`
	Text      string         `json:"text,omitempty"`
	Parts     []part         `json:"parts,omitempty"`
	ToolCalls []toolCall     `json:"toolCalls,omitempty"`
	ToolID    string         `json:"toolID,omitempty"`
}

// part is a providers.Part with the hash of its file.
type part struct {
	Kind  providers.PartKind `json:"kind"`
	Text  string             `json:"text,omitempty"`
	SHA   string             `json:"sha256,omitempty"`
	URL   string             `json:"url,omitempty"`
	Media string             `json:"media,omitempty"`
	Name  string             `json:"name,omitempty"`
}

type toolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"`
	Extra json.RawMessage `json:"extra,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
}

// named is a tool of a request: its name and input, without its description.
type named struct {
	Name   string `json:"name"`
	Schema string `json:"schema"` // hash of the JSON Schema, whatever the order of its members
}

func (t tool) named() named {
	v, _ := readJSON(string(t.Input)) // invalid JSON counts as no schema
	sum := sha256.Sum256(encode(v))
	return named{t.Name, hex.EncodeToString(sum[:8])}
}

func (c cleaner) tool(t providers.Tool) tool {
	return tool{Name: t.Name, Description: c.request(t.Description), Input: c.raw(t.Input, c.request)}
}

// response is a providers.Response.
type response struct {
	Text      string          `json:"text,omitempty"`
	ToolCalls []toolCall      `json:"toolCalls,omitempty"`
	Stop      providers.Stop  `json:"stop"`
	Usage     providers.Usage `json:"usage"`
	Model     string          `json:"model,omitempty"`
}

// failure is a providers.Error without its cause.
type failure struct {
	Kind       providers.Kind   `json:"kind"`
	Reason     providers.Reason `json:"reason,omitempty"`
	Model      string           `json:"model,omitempty"`
	Status     int              `json:"status,omitempty"`
	Message    string           `json:"message,omitempty"`
	RetryAfter string           `json:"retryAfter,omitempty"` // time to wait, as "7s"; "": not said
	TooLong    bool             `json:"tooLong,omitempty"`
	Usage      providers.Usage  `json:"usage,omitzero"`
}

// ask returns the line of a call without its answer.
func (c cleaner) ask(model string, r providers.Request) (line, error) {
	req := request{
		ToolChoice: r.ToolChoice, Output: c.raw(r.Output, c.request), MaxTokens: r.MaxTokens, Temperature: r.Temperature, Params: r.Params,
	}
	req.Extra = c.raw(r.Extra, c.request)
	req.Stop = nil
	for _, s := range r.Stop {
		req.Stop = append(req.Stop, c.request(s))
	}
	for _, m := range r.Messages {
		req.Messages = append(req.Messages, message{Role: m.Role, Text: c.request(m.Text), Parts: c.parts(m.Parts), ToolCalls: c.calls(m.ToolCalls, c.request), ToolID: c.request(m.ToolID)})
	}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, c.tool(t).named())
	}
	data, err := marshal(req)
	if err != nil {
		return line{}, fmt.Errorf("the request has no JSON form: %w", err)
	}
	v, _ := readJSON(string(data))                                // members in whatever order
	l := line{V: version, Model: c.answer(model), Req: encode(v)} // and sorted
	l.Key = l.hash()
	return l, nil
}

// hash is the key of a call.
func (l line) hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s", l.Model, l.Req))
	return hex.EncodeToString(sum[:])
}

func (c cleaner) parts(parts []providers.Part) []part {
	var out []part
	for _, p := range parts {
		to := part{Kind: p.Kind, Text: c.request(p.Text), URL: c.request(p.URL), Media: p.Media, Name: c.request(p.Name)}
		if len(p.Data) > 0 {
			sum := sha256.Sum256(p.Data)
			to.SHA = hex.EncodeToString(sum[:])
		}
		out = append(out, to)
	}
	return out
}

// answered returns the clean form of an answer.
func (c cleaner) answered(r providers.Response) *response {
	return &response{Text: c.answer(r.Text), ToolCalls: c.calls(r.ToolCalls, c.answer), Stop: r.Stop, Usage: r.Usage, Model: c.answer(r.Model)}
}

func (c cleaner) calls(calls []providers.ToolCall, clean func(string) string) []toolCall {
	var out []toolCall
	for _, t := range calls {
		out = append(out, toolCall{ID: clean(t.ID), Name: t.Name, Input: c.raw(t.Input, clean), Extra: c.raw(t.Extra, clean)})
	}
	return out
}

// failed returns the clean form of an error. An error that is not a *providers.Error is
// permanent.
func (c cleaner) failed(err error) *failure {
	var e *providers.Error
	if !errors.As(err, &e) {
		return &failure{Kind: providers.Permanent, Message: c.answer(err.Error())}
	}
	out := &failure{Kind: e.Kind, Reason: e.Reason, Model: c.answer(e.Model), Status: e.Status, Message: c.answer(e.Message), TooLong: e.TooLong, Usage: e.Usage}
	if e.RetryAfter > 0 {
		out.RetryAfter = e.RetryAfter.String()
	}
	return out
}

// play returns the answer or error of a line. The caller owns it.
func (l line) play() (providers.Response, error) {
	if f := l.Err; f != nil {
		after, _ := time.ParseDuration(f.RetryAfter) // checked when it was read
		return providers.Response{}, &providers.Error{
			Kind: f.Kind, Reason: f.Reason, Model: f.Model, Status: f.Status, Message: f.Message, RetryAfter: after, TooLong: f.TooLong, Usage: f.Usage,
		}
	}
	out := providers.Response{Text: l.Resp.Text, Stop: l.Resp.Stop, Usage: l.Resp.Usage, Model: l.Resp.Model}
	for _, c := range l.Resp.ToolCalls {
		c.Input, c.Extra = append(json.RawMessage(nil), c.Input...), append(json.RawMessage(nil), c.Extra...)
		out.ToolCalls = append(out.ToolCalls, providers.ToolCall(c))
	}
	return out, nil
}

// readLine reads a line and checks it.
func readLine(data []byte) (line, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return line{}, err
	}
	switch {
	case l.V < 1 || l.V > version:
		return line{}, fmt.Errorf("it is of version %d, want 1 to %d", l.V, version)
	case l.List != "":
		return l, nil
	case l.Key == "":
		return line{}, errors.New("it has no key")
	case (l.Resp == nil) == (l.Err == nil):
		return line{}, errors.New("want either resp or err")
	case l.Err != nil && l.Err.RetryAfter != "":
		if _, err := time.ParseDuration(l.Err.RetryAfter); err != nil {
			return line{}, fmt.Errorf("retryAfter: %w", err)
		}
	}
	if l.V == 1 {
		return l.updated(), nil
	}
	return l, nil
}

// updated returns l, which is of the first version, in the current version.
func (l line) updated() line {
	var req struct {
		Tools []tool `json:"tools"`
	}
	v, _ := readJSON(string(l.Req))
	members, ok := v.(map[string]any)
	if !ok || json.Unmarshal(l.Req, &req) != nil || len(req.Tools) == 0 {
		return l
	}
	var tools []named
	for _, t := range req.Tools {
		tools = append(tools, t.named())
	}
	members["tools"] = tools
	v, _ = readJSON(string(encode(members)))
	l.Req = encode(v)
	l.Key = l.hash()
	return l
}
