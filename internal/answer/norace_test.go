//go:build !race

package answer_test

const raceDetector = false
