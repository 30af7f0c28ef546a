/* Loaded with --import. SIGUSR2 shifts Date.now, the only clock of the gateway, and the next one shifts it back. */
const step = Number(process.env.PORTICO_TEST_CLOCK_SHIFT)
const now = Date.now
let shift = 0
Date.now = () => now() + shift
process.on('SIGUSR2', () => {
  shift = shift === 0 ? step : 0
})
