/* Preloaded: workers share one port through node:cluster, by the policy of NODE_CLUSTER_SCHED_POLICY. */
import { Server } from 'node:net'

const listen = Server.prototype.listen

function listenWithoutReusePort(this: Server, ...args: unknown[]): unknown {
  const [options] = args
  if (typeof options === 'object' && options !== null) Reflect.deleteProperty(options, 'reusePort')
  return Reflect.apply(listen, this, args)
}

Reflect.set(Server.prototype, 'listen', listenWithoutReusePort)
