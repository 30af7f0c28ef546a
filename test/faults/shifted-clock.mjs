/*
 * Loaded before the gateway (node --import) by tests alone: each SIGUSR2 moves the time that the process sees by
 * PORTICO_TEST_CLOCK_SHIFT milliseconds. The gateway asks for the time in one place, by Date.now.
 */
const step = Number(process.env.PORTICO_TEST_CLOCK_SHIFT)
const now = Date.now
let shift = 0
Date.now = () => now() + shift
process.on('SIGUSR2', () => {
  shift += step
})
