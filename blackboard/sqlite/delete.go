package sqlite

import "context"

// Delete implements [blackboard.Deleter]. The file does not shrink: its space is
// used again.
func (s *Store) Delete(ctx context.Context, run string) error {
	return s.change(ctx, func(c *conn) error {
		return c.transaction(func() error {
			for _, sql := range []string{
				"DELETE FROM log WHERE " + ofRun, // as long as the run has a number
				"DELETE FROM runs WHERE run = ?",
				"DELETE FROM letters WHERE run = ?",
				"DELETE FROM blobs WHERE run = ?",
			} {
				if _, err := c.run(sql, run); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
