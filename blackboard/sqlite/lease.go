package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/convene-go/convene/blackboard"
)

const (
	takeLease = `INSERT INTO leases(name, owner, until) VALUES(?, ?, ?)
		ON CONFLICT(name) DO UPDATE SET owner = excluded.owner, until = excluded.until
		WHERE owner = excluded.owner OR until <= ?`
	dropLease  = "DELETE FROM leases WHERE name = ? AND (owner = ? OR until <= ?)"
	countLease = "SELECT count(*) FROM leases WHERE name = ?"
)

// Lease implements [blackboard.Leaser] by the clock of the machine.
func (s *Store) Lease(ctx context.Context, name, owner string, d time.Duration) error {
	return s.change(ctx, func(c *conn) error {
		now := time.Now().UnixNano()
		if d <= 0 {
			return giveBack(c, name, owner, now)
		}
		until := int64(math.MaxInt64)
		if int64(d) < until-now {
			until = now + int64(d)
		}
		n, err := c.run(takeLease, name, owner, until, now)
		if err == nil && n == 0 {
			err = heldByAnother(name)
		}
		return err
	})
}

func giveBack(c *conn, name, owner string, now int64) error {
	if _, err := c.run(dropLease, name, owner, now); err != nil {
		return err
	}
	n, err := c.number(countLease, name)
	if err == nil && n > 0 {
		err = heldByAnother(name)
	}
	return err
}

func heldByAnother(name string) error {
	return fmt.Errorf("%w: another holds the lease %q", blackboard.ErrConflict, name)
}
