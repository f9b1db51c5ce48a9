package postgres

import "context"

// deleteRuns are the steps of Delete. The first locks the runs: a writer waits until the
// last, and then finds no run.
var deleteRuns = []string{
	"SELECT no FROM @runs WHERE run = ANY($1) ORDER BY run FOR UPDATE",
	"DELETE FROM @log WHERE no IN (SELECT no FROM @runs WHERE run = ANY($1))",
	"DELETE FROM @asks WHERE no IN (SELECT no FROM @runs WHERE run = ANY($1))",
	"DELETE FROM @labels WHERE no IN (SELECT no FROM @runs WHERE run = ANY($1))",
	"DELETE FROM @inbox WHERE no IN (SELECT no FROM @runs WHERE run = ANY($1))",
	"DELETE FROM @blobs WHERE run = ANY($1)",
	"DELETE FROM @runs WHERE run = ANY($1)",
}

// Delete implements [runlog.Deleter], in one transaction. Autovacuum makes the space
// available again later.
func (s *Store) Delete(ctx context.Context, runs ...string) error {
	return s.do(ctx, "delete", func(ctx context.Context) error {
		b := s.limits()
		for _, sql := range deleteRuns {
			b.Queue(s.sql.of(sql), toTexts(runs))
		}
		return s.send(ctx, b).Close()
	})
}
