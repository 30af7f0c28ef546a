/*
 * Loaded with --import, in tests only. Each SIGUSR2 shifts Date.now, the only clock of the gateway, by
 * PORTICO_TEST_CLOCK_SHIFT milliseconds.
 */
const step = Number(process.env.PORTICO_TEST_CLOCK_SHIFT)
const now = Date.now
let shift = 0
Date.now = () => now() + shift
process.on('SIGUSR2', () => {
  shift += step
})
