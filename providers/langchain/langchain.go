// Package langchain connects to langchaingo, both ways: [Model] makes a
// providers.Model from any of its models, of which it has many (Mistral, Cohere,
// Hugging Face, watsonx and others), and [LLM] makes a providers.Model, with its
// chain, prices or cassette, usable by code that is written for langchaingo.
//
// Models of OpenAI, Anthropic, Google, Azure, Ollama, Bedrock and compatible servers
// have openers of their own, which guarantee more: see [Model].
package langchain

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
)

var rolesOut = map[providers.Role]llms.ChatMessageType{
	providers.System: llms.ChatMessageTypeSystem, providers.User: llms.ChatMessageTypeHuman,
	providers.Assistant: llms.ChatMessageTypeAI, providers.ToolRole: llms.ChatMessageTypeTool,
}

var rolesIn = map[llms.ChatMessageType]providers.Role{
	llms.ChatMessageTypeSystem: providers.System, llms.ChatMessageTypeHuman: providers.User, llms.ChatMessageTypeGeneric: providers.User,
	llms.ChatMessageTypeAI: providers.Assistant, llms.ChatMessageTypeTool: providers.ToolRole,
}

// toLangchain converts messages for langchaingo. Each part becomes a message of its own,
// because most of its clients read only the first part; a text and the calls beside it
// stay together.
func toLangchain(messages []providers.Message) []llms.MessageContent {
	names := map[string]string{} // names of tools, by call
	var out []llms.MessageContent
	for _, m := range messages {
		to := llms.MessageContent{Role: rolesOut[m.Role]}
		if m.Role == providers.ToolRole {
			to.Parts = []llms.ContentPart{llms.ToolCallResponse{ToolCallID: m.ToolID, Name: names[m.ToolID], Content: m.Text}}
			out = append(out, to)
			continue
		}
		if m.Text != "" || len(m.ToolCalls) == 0 {
			to.Parts = append(to.Parts, llms.TextPart(m.Text))
		}
		for _, p := range m.Parts {
			to.Parts = append(to.Parts, partOut(p))
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			to.Parts = append(to.Parts, llms.ToolCall{
				ID: c.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: string(c.Input)},
			})
		}
		out = append(out, to)
	}
	return out
}

func partOut(p providers.Part) llms.ContentPart {
	switch {
	case p.Kind == providers.TextPart:
		return llms.TextPart(p.Text)
	case p.URL != "":
		return llms.ImageURLPart(p.URL)
	}
	return llms.BinaryPart(p.Media, p.Data)
}

// fromLangchain converts langchaingo's messages.
func fromLangchain(messages []llms.MessageContent) []providers.Message {
	var out []providers.Message
	for _, m := range messages {
		to := providers.Message{Role: rolesIn[m.Role]}
		if to.Role == "" {
			to.Role = providers.Role(m.Role) // the model refuses it, and says so
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llms.TextContent:
				to.Text += p.Text
			case llms.ImageURLContent:
				to.Parts = append(to.Parts, imageIn(p.URL))
			case llms.BinaryContent:
				to.Parts = append(to.Parts, fileIn(p.MIMEType, p.Data))
			case llms.ToolCall:
				to.ToolCalls = append(to.ToolCalls, callIn(p))
			case llms.ToolCallResponse:
				out = append(out, providers.Message{Role: providers.ToolRole, ToolID: p.ToolCallID, Text: p.Content})
				to.Role = ""
			}
		}
		if to.Role != "" {
			out = append(out, to)
		}
	}
	return out
}

func callIn(c llms.ToolCall) providers.ToolCall {
	out := providers.ToolCall{ID: c.ID}
	if c.FunctionCall == nil {
		return out
	}
	out.Name = c.FunctionCall.Name
	if out.Input = json.RawMessage(c.FunctionCall.Arguments); !json.Valid(out.Input) {
		out.Input, _ = json.Marshal(c.FunctionCall.Arguments) // a text always has a JSON form
	}
	return out
}

func imageIn(url string) providers.Part {
	head, data, isData := strings.Cut(url, ";base64,")
	file, err := base64.StdEncoding.DecodeString(data)
	if media, ok := strings.CutPrefix(head, "data:"); ok && isData && err == nil {
		return fileIn(media, file)
	}
	return providers.Part{Kind: providers.ImagePart, URL: url}
}

func fileIn(media string, data []byte) providers.Part {
	kind := providers.DocumentPart
	if strings.HasPrefix(media, "image/") {
		kind = providers.ImagePart
	}
	return providers.Part{Kind: kind, Media: media, Data: data}
}
