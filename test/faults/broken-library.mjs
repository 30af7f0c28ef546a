// Loaded with --import. The failure is unhandled.
process.on('SIGUSR2', () => {
  Promise.reject(Object.assign(new Error('a library failed'), { command: { name: 'auth', args: ['hidden'] } }))
})
process.on('SIGWINCH', () => {
  throw 'a library threw a text'
})
