package blackboard

import (
	"context"
	"fmt"
	"time"
)

type memoryLease struct {
	owner string
	until time.Time
}

// Lease implements [Leaser] by the clock of the process.
func (m *Memory) Lease(ctx context.Context, name, owner string, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	held, ok := m.leases[name]
	if ok && held.owner != owner && now.Before(held.until) {
		return fmt.Errorf("%w: %q is held by %q", ErrConflict, name, held.owner)
	}
	if d <= 0 {
		delete(m.leases, name)
		return nil
	}
	if m.leases == nil {
		m.leases = make(map[string]memoryLease)
	}
	m.leases[name] = memoryLease{owner: owner, until: now.Add(d)}
	return nil
}
