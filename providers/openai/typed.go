package openai

import (
	"encoding/json"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/schema"
	"github.com/convene-go/convene/providers/internal/wire"
)

// typed is how an answer is held to its schema. The zero typed does not hold it.
// Whether an answer fits is for the caller to check, always.
type typed struct {
	kind    string          // what the vendor takes for it, "json_schema" or "json_object"; "": nothing
	schema  json.RawMessage // of kind "json_schema"
	strict  bool
	prompt  string // what the model is told; "": nothing
	widened bool   // optional fields may be null, which the schema does not say
}

// typedPlain gives the schema as it is.
func typedPlain(_ *model, req providers.Request) typed {
	return typed{kind: "json_schema", schema: req.Output}
}

// typedStrict gives the schema in the form of which OpenAI promises that the
// answer fits, if it has one.
func typedStrict(_ *model, req providers.Request) typed {
	if !schema.IsObject(req.Output) {
		return typedByPrompt(req)
	}
	fit, widened, ok := schema.Strict.Fit(req.Output)
	if !ok {
		return typed{kind: "json_schema", schema: req.Output}
	}
	return typed{kind: "json_schema", schema: fit, strict: true, widened: widened}
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
	fit, _, ok := schema.Gemini.Fit(req.Output)
	if !ok {
		return typedObject(nil, req)
	}
	return typed{kind: "json_schema", schema: fit}
}

// typedObject wants any object, and tells the model the schema.
func typedObject(_ *model, req providers.Request) typed {
	t := typedByPrompt(req)
	if schema.IsObject(req.Output) && len(req.Tools) == 0 {
		t.kind = "json_object"
	}
	return t
}

// typedByPrompt tells the model the schema.
func typedByPrompt(req providers.Request) typed { return typed{prompt: wire.Prompted(req.Output)} }
