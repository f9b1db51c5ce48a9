package agent

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/convene-go/convene/providers"
)

// maxShown is how many images and documents of one tool call a model is shown.
const maxShown = 8

// Show has the model see images and documents with the result of the tool that was
// called with ctx, behind its text. It returns an error, and shows none of them, if
// ctx is not a tool's, if one of them is not valid, or if the tool has shown 8. They
// are recorded as all messages are.
func Show(ctx context.Context, parts ...providers.Part) error {
	s, ok := ctx.Value(shownKey{}).(*shown)
	if !ok {
		return errors.New("agent: show: the context is not that of a tool's call")
	}
	return s.add(parts)
}

type shownKey struct{}

// shown is what one tool call shows. A tool that is left behind may add to it late.
type shown struct {
	mu    sync.Mutex
	parts []providers.Part
}

func (s *shown) add(parts []providers.Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parts)+len(parts) > maxShown {
		return errors.New("agent: show: a tool call shows at most 8 parts")
	}
	if err := providers.CheckParts([]providers.Message{{Role: providers.ToolRole, Parts: parts}}); err != nil {
		return err
	}
	s.parts = append(s.parts, providers.CloneParts(parts)...)
	return nil
}

// taken returns what was shown.
func (s *shown) taken() []providers.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.parts)
}
