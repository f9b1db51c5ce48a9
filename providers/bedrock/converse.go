package bedrock

import (
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// converse calls the models of all vendors in Bedrock's own format.
type converse struct {
	operation
	req    providers.Request
	cache  bool // the model caches prompts
	forget bool // do not send thoughts back to the vendor
	reader
}

// remembered is the key of thoughts that this format reads.
const remembered = "bedrock/converse"

type object map[string]any

type converseRequest struct {
	System          []object        `json:"system,omitempty"`
	Messages        []message       `json:"messages"`
	InferenceConfig inferenceConfig `json:"inferenceConfig"`
	ToolConfig      *converseTools  `json:"toolConfig,omitempty"`
}

type inferenceConfig struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Stop        []string `json:"stopSequences,omitempty"`
}

type converseTools struct {
	Tools      []object `json:"tools"`
	ToolChoice object   `json:"toolChoice,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// Ask implements [wire.Talk].
func (c *converse) Ask(*wire.Answer) (string, []byte, error) {
	c.reader = reader{}
	req := c.req
	tools, words := c.tools()
	body := converseRequest{ToolConfig: tools, InferenceConfig: inferenceConfig{MaxTokens: req.MaxTokens, Stop: req.Stop}}
	if !c.memory.Knows("temperature") {
		body.InferenceConfig.Temperature = req.Temperature
	}
	if !c.memory.Knows("topP") {
		body.InferenceConfig.TopP = req.TopP
	}
	for _, m := range req.Messages[:wire.Leading(req.Messages)] {
		if !wire.Blank(m) {
			body.System = append(body.System, object{"text": m.Text})
		}
	}
	for _, text := range words {
		body.System = append(body.System, object{"text": text})
	}
	var err error
	if body.Messages, err = c.messages(); err != nil {
		return "", nil, err
	}
	c.mark(&body)
	data, err := wire.Body(body, req)
	return c.url(), data, err
}

// mark marks the prefix that the next turn repeats: long instructions, and in a loop of
// tools the whole conversation. Nova takes no mark after its tools, which the mark of
// the instructions covers.
func (c *converse) mark(body *converseRequest) {
	if !c.cache {
		return
	}
	point := object{"cachePoint": object{"type": "default"}}
	instructions, talk := wire.Cached(c.req)
	if instructions && len(body.System) > 0 && !c.memory.Knows("cachePoint in system") {
		body.System = append(body.System, point)
	}
	if last := len(body.Messages) - 1; talk && last >= 0 && !c.memory.Knows("cachePoint in messages") {
		body.Messages[last].Content = append(body.Messages[last].Content, point)
	}
}

// tools returns the tools and the tool choice, and instructions in words for what
// cannot be forced: a schema, and to call no tool.
func (c *converse) tools() (out *converseTools, words []string) {
	req := c.req
	tools, choice := req.Tools, req.ToolChoice
	if len(tools) == 0 {
		if tools, choice = c.called(), ""; len(tools) > 0 {
			choice = "none"
		}
	}
	if req.Output != nil && (choice == "" || choice == "none") {
		words = append(words, wire.Prompted(req.Output))
	}
	if choice == "none" {
		if len(c.called()) == 0 {
			return nil, words
		}
		words = append(words, "Call no tool now.")
	}
	if len(tools) == 0 {
		return nil, words
	}
	out = &converseTools{}
	for _, t := range tools {
		spec := object{"name": t.Name, "inputSchema": object{"json": wire.InputOf(t)}}
		if t.Description != "" {
			spec["description"] = t.Description
		}
		out.Tools = append(out.Tools, object{"toolSpec": spec})
	}
	switch choice {
	case "", "none":
	case "required":
		out.ToolChoice = object{"any": object{}}
	default:
		out.ToolChoice = object{"tool": object{"name": choice}}
	}
	return out, words
}

// called returns the tools that were called before, of which only the names are known.
// Bedrock refuses calls and results of tools in a request without tools.
func (c *converse) called() []providers.Tool {
	var out []providers.Tool
	for _, m := range c.req.Messages {
		for _, call := range m.ToolCalls {
			if !slices.ContainsFunc(out, func(t providers.Tool) bool { return t.Name == call.Name }) {
				out = append(out, providers.Tool{Name: call.Name})
			}
		}
	}
	return out
}

// Concede implements [wire.Talk].
func (c *converse) Concede(status int, said *wire.Said) bool {
	if c.concede(status, said) {
		return true
	}
	if !wire.RefusesRequest(status) {
		return false
	}
	if !c.forget && said.RefusesThoughts() {
		c.forget = true
		return true
	}
	lower := strings.ToLower(said.Message)
	switch refused := said.Unsupported(); {
	case c.cache && strings.Contains(said.Message, "cachePoint"):
		c.noMark(said.Message)
	case refused && c.req.Temperature != nil && strings.Contains(lower, "temperature"):
		c.memory.Learn("temperature", "")
	case refused && c.req.TopP != nil && (strings.Contains(lower, "topp") || strings.Contains(lower, "top_p")):
		c.memory.Learn("topP", "")
	default:
		return false
	}
	return true
}

// noMark records where a mark for the cache is refused: in the place that the message
// names, or everywhere.
func (c *converse) noMark(message string) {
	places := []string{"system", "messages"}
	if at := slices.IndexFunc(places, func(p string) bool { return strings.Contains(message, "#/"+p) }); at >= 0 {
		places = places[at : at+1]
	}
	for _, p := range places {
		c.memory.Learn("cachePoint in "+p, "")
	}
}
