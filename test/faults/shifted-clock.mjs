/* Loaded with --import. SIGUSR2 shifts Date.now, the only clock of the gateway. */
const step = Number(process.env.PORTICO_TEST_CLOCK_SHIFT)
const now = Date.now
let shift = 0
Date.now = () => now() + shift
process.on('SIGUSR2', () => {
  shift += step
})
