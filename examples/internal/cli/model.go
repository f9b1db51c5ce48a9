package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/convene-go/convene/providers"
)

// Who names the model or the rehearsal: it is part of the ID of a run.
func (s *Settings) Who() string {
	switch {
	case s.Model == nil:
		return "rehearsal"
	case s.Model.BaseURL != "":
		return s.Model.String() + " at " + s.Model.BaseURL
	default:
		return s.Model.String()
	}
}

// mostFailures is how many calls in a row may fail, over all agents, before the run is
// suspended.
const mostFailures = 20

var errOutage = errors.New("the model does not answer")

// outage is a model that suspends the run when only a person can help: a key is
// refused, or the service has not answered for a while. The last failures are then not
// recorded as answers, so that they do not use up agents' attempts.
type outage struct {
	model   providers.Model
	suspend context.CancelCauseFunc
	failed  atomic.Int64 // calls in a row
}

// Generate implements providers.Model.
func (m *outage) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	resp, err := m.model.Generate(ctx, req)
	if err == nil {
		m.failed.Store(0)
		return resp, nil
	}
	var e *providers.Error
	refused := errors.As(err, &e) && e.Kind == providers.Permanent
	if ctx.Err() != nil || !refused && m.failed.Add(1) < mostFailures {
		return resp, err
	}
	m.suspend(fmt.Errorf("%w: %w", errOutage, err))
	<-ctx.Done()
	return resp, ctx.Err()
}

// Priced implements providers.Priced.
func (m *outage) Priced() bool {
	p, ok := m.model.(providers.Priced)
	return ok && p.Priced()
}
