// Loaded before the gateway (--import): from a signal on a library has failed where nobody waits for it.
process.on('SIGUSR2', () => {
  Promise.reject(Object.assign(new Error('a library failed'), { command: { name: 'auth', args: ['hidden'] } }))
})
process.on('SIGWINCH', () => {
  throw 'a library threw a text'
})
