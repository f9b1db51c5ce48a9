package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"

	"github.com/convene-go/convene/blackboard/runlog"
)

// upgrade turns a file of version from, 2 or 3, into one of this version.
func (c *conn) upgrade(from int64) error {
	if from == 2 {
		if err := c.fromVersion2(); err != nil {
			return err
		}
	}
	return c.fromVersion3()
}

// Version 4 has an index of open questions, and one of the texts that lists are searched
// for. Programs that know version 3 and have the file open would not keep these up. So a
// column has another name, and they fail when they start, resume, end or list a run.
const changeVersion3 = "ALTER TABLE runs RENAME COLUMN data TO labels; ALTER TABLE runs ADD COLUMN text TEXT NOT NULL DEFAULT '';" + asksTable

// fromVersion3 turns a file of version 3 into one of version 4.
func (c *conn) fromVersion3() error {
	if err := c.exec(changeVersion3); err != nil {
		return err
	}
	rows, err := c.all(listingColumns + ", run FROM runs")
	for i := 0; i < len(rows) && err == nil; i++ {
		if l, damage := c.listing(rows[i]); damage == nil { // a damaged entry cannot be listed either
			err = c.exec("UPDATE runs SET text = ? WHERE run = ?", l.SearchText(), l.Run)
		}
	}
	if err == nil {
		err = c.findAsks()
	}
	if err == nil {
		err = c.exec(textIndex + "PRAGMA user_version = 4")
	}
	return err
}

// findAsks fills the index of open questions from the logs of open runs. A damaged record
// ends what is known of its run.
func (c *conn) findAsks() error {
	damaged := map[string]bool{}
	return c.rows(func(_ *conn, row []driver.Value) error {
		run := as[string](row[3])
		r, ok := c.record(run, row)
		if damaged[run] = damaged[run] || !ok; damaged[run] {
			return nil
		}
		return c.putAsk(&r)
	}, "SELECT log.id & 0xffffffff, CAST(log.head AS TEXT), CAST(log.data AS BLOB), run FROM log CROSS JOIN runs ON no = id >> 32 AND ended = 0 WHERE "+askKinds+" ORDER BY id")
}

// A file of version 2 kept the letters that the log did not have yet, one for each key
// of a run. In version 3 a letter has a round, and stays when it was taken. The table
// has another name, so that programs that know version 2 and have the file open fail,
// instead of removing letters.
const dropVersion2 = "DROP TABLE letters; ALTER TABLE runs DROP COLUMN canceled; PRAGMA user_version = 3"

// fromVersion2 turns a file of version 2 into one of version 3. The letters get the
// rounds that their questions have by the log.
func (c *conn) fromVersion2() error {
	if err := c.exec(inboxTable); err != nil {
		return err
	}
	rows, err := c.all("SELECT expired, " + columns + ", run, key FROM letters")
	if err != nil {
		return err
	}
	for _, row := range rows {
		run, key := as[string](row[3]), as[string](row[4])
		round, err := c.lastRound(run, key)
		if err != nil {
			return err
		}
		head := []byte(as[string](row[1])) // a damaged letter stays damaged
		if r, ok := c.record(run, row); ok {
			r.N = round
			head = c.head(&r, 0)
		}
		if err := c.exec(insertLetter, run, key, round, row[0], head, as[[]byte](row[2])); err != nil {
			return err
		}
	}
	return c.exec(dropVersion2)
}

// lastRound returns how often the question of key was opened again, by its records. A
// damaged record ends them: the run can be read no further.
func (c *conn) lastRound(run, key string) (round int64, err error) {
	if key == "" {
		return 0, nil
	}
	state := ""
	err = c.rows(func(c *conn, row []driver.Value) error {
		r, err := c.logged(run, row)
		if err != nil {
			return err
		}
		switch asks := r.Kind == runlog.Asked; {
		case state == runlog.Answered && (!asks || !rejects(r.Data)):
			return nil // the first answer stays
		case asks && state != "" && state != runlog.Asked:
			round++
		}
		state = r.Kind
		return nil
	}, selectAsksKey, run, int64(0), key)
	if errors.Is(err, runlog.ErrDamaged) {
		err = nil
	}
	return round, err
}

// rejects reports whether the Data of an Asked record says why an early answer was dropped.
func rejects(data json.RawMessage) bool {
	var d struct {
		Rejected json.RawMessage `json:"rejected"`
	}
	_ = json.Unmarshal(data, &d) // other Data rejects nothing
	return !slices.Contains([]string{"", `""`, "null"}, string(d.Rejected))
}
