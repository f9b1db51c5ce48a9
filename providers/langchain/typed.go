package langchain

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/providers"
)

// typed is how an answer is held to its schema. The zero typed does not hold it.
// Whether an answer fits is for the caller to check, always.
type typed struct {
	format  any             // what the vendor takes for it; nil: nothing
	tool    string          // the tool whose input is the answer; "": none
	schema  json.RawMessage // of that tool's input
	prompt  string          // what the model is told; "": nothing
	widened bool            // optional fields may be null, which the schema does not say
}

// typedPlain gives the schema as it is.
func typedPlain(_ *model, req providers.Request) typed {
	return typed{format: jsonSchema(req.Output)}
}

// typedStrict gives the schema in the form of which OpenAI promises that the
// answer fits, if it has one.
func typedStrict(_ *model, req providers.Request) typed {
	if !isObject(req.Output) {
		return typedByPrompt(req)
	}
	schema, widened, ok := strictSchema.fit(req.Output)
	if !ok {
		return typed{format: jsonSchema(req.Output)}
	}
	return typed{format: object{"type": "json_schema", "json_schema": object{"name": "answer", "schema": schema, "strict": true}}, widened: widened}
}

// typedWithoutTools gives the schema as it is, if there are no tools: Ollama would
// not call them.
func typedWithoutTools(m *model, req providers.Request) typed {
	if len(req.Tools) > 0 {
		return typedByPrompt(req)
	}
	return typedPlain(m, req)
}

// typedGemini gives the schema in Gemini's words, if it has them and there are no
// tools, which Gemini refuses together.
func typedGemini(_ *model, req providers.Request) typed {
	if len(req.Tools) > 0 {
		return typedByPrompt(req)
	}
	schema, _, ok := geminiSchema.fit(req.Output)
	if !ok {
		return typedObject(nil, req)
	}
	return typed{format: jsonSchema(schema)}
}

// typedObject wants any object, and tells the model the schema.
func typedObject(_ *model, req providers.Request) typed {
	t := typedByPrompt(req)
	if isObject(req.Output) && len(req.Tools) == 0 {
		t.format = object{"type": "json_object"}
	}
	return t
}

// typedClaude gives the schema to models that take one, and makes a tool of it for
// the others. An answer that has to be the call of another tool has no schema.
func typedClaude(m *model, req providers.Request) typed {
	switch {
	case !isObject(req.Output):
		return typedByPrompt(req)
	case m.claude.format:
		schema, _, ok := claudeSchema.fit(req.Output)
		if !ok {
			return typedByPrompt(req)
		}
		return typed{format: object{"type": "json_schema", "schema": schema}}
	case req.ToolChoice != "" && req.ToolChoice != "none":
		return typed{}
	}
	return typed{tool: answerTool(req.Tools), schema: req.Output}
}

// typedByPrompt tells the model the schema.
func typedByPrompt(req providers.Request) typed {
	return typed{prompt: fmt.Sprintf("Answer with one JSON value that fits this JSON Schema, and with nothing else:\n%s", req.Output)}
}

func jsonSchema(schema json.RawMessage) object {
	return object{"type": "json_schema", "json_schema": object{"name": "answer", "schema": schema}}
}

// answerTool returns a name that no tool has.
func answerTool(tools []providers.Tool) string {
	name := "answer"
	for slices.ContainsFunc(tools, func(t providers.Tool) bool { return t.Name == name }) {
		name = "final_" + name
	}
	return name
}
