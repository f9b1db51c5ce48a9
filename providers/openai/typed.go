package openai

import (
	"encoding/json"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/schema"
	"github.com/convene-go/convene/providers/internal/wire"
)

// typed says how an answer is made to fit its schema. The zero typed does nothing. The
// caller must always check whether an answer fits.
type typed struct {
	kind    string          // the type that the vendor takes, "json_schema" or "json_object"; "": nothing
	schema  json.RawMessage // schema of the kind "json_schema"
	strict  bool
	prompt  string // words for the model; "": none
	widened bool   // optional fields may be null, unlike in the schema
}

// typedPlain sends the schema unchanged.
func typedPlain(_ *model, req providers.Request) typed {
	return typed{kind: "json_schema", schema: req.Output}
}

// typedStrict sends the schema in the form for which OpenAI guarantees that the answer
// fits, if it has one.
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

// typedWithoutTools sends the schema unchanged, if there are no tools: Ollama would not
// call them.
func typedWithoutTools(m *model, req providers.Request) typed {
	if len(req.Tools) > 0 {
		return typedByPrompt(req)
	}
	return typedPlain(m, req)
}

// typedGemini sends the schema in Gemini's dialect, if that has it and there are no tools,
// which Gemini refuses together.
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

// typedObject requires any object, and describes the schema in the prompt.
func typedObject(_ *model, req providers.Request) typed {
	t := typedByPrompt(req)
	if schema.IsObject(req.Output) && len(req.Tools) == 0 {
		t.kind = "json_object"
	}
	return t
}

// typedByPrompt describes the schema in the prompt.
func typedByPrompt(req providers.Request) typed { return typed{prompt: wire.Prompted(req.Output)} }
