/** Whether a URL names this machine. URL has already normalized IPv4 addresses, so a name such as 127.a.test differs. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
