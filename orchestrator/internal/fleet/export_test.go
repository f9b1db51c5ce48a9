package fleet

// Watched is the number of runs of other engines that somebody waits for.
func (f *Fleet) Watched() (n int) {
	f.foreign.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}
