// Loaded with --import. On a signal, a library fails in a way that no caller handles.
process.on('SIGUSR2', () => {
  Promise.reject(Object.assign(new Error('a library failed'), { command: { name: 'auth', args: ['hidden'] } }))
})
process.on('SIGWINCH', () => {
  throw 'a library threw a text'
})
