//go:build unix && !linux

package proc

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// marked lists the processes that have the entry in their environment, as ps shows it
// behind the command.
func marked(ctx context.Context, entry string) (found []int, err error) {
	out, err := exec.CommandContext(ctx, "ps", "axeww", "-o", "pid=,command=").Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if !slices.Contains(words, entry) {
			continue
		}
		if pid, err := strconv.Atoi(words[0]); err == nil {
			found = append(found, pid)
		}
	}
	return found, nil
}
