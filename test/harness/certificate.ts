import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Self-signed for one name, such as `IP:127.0.0.1`. `file` is the path of the certificate. */
export function selfSigned(folder: string, name: string) {
  const [key, file] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const pair = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', file]
  const reported = ['-subj', '/CN=service', '-addext', `subjectAltName=${name}`, '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...pair, ...reported], { stdio: 'ignore' })
  return { file, key: readFileSync(key), cert: readFileSync(file) }
}

/** Like `selfSigned`. The certificate has just expired. */
export function expired(folder: string, name: string) {
  const { file } = selfSigned(folder, name)
  const key = join(folder, 'key.pem')
  const renewed = ['x509', '-in', file, '-signkey', key, '-days', '0', '-out', join(folder, 'expired.pem')]
  execFileSync('openssl', renewed, { stdio: 'ignore' })
  return { file: join(folder, 'expired.pem'), key: readFileSync(key), cert: readFileSync(join(folder, 'expired.pem')) }
}
