import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { ERRORS as FOUNDATION_ERRORS, type MillraceError, printable } from '@millrace/foundation';
import ipaddr from 'ipaddr.js';
import { ERRORS } from '../errors.js';
import type { ResolveHost } from './dependencies.js';

/** Which addresses may be called. */
export interface AddressRules {
  /** The only hosts that may be called, `api.example.com` or `*.example.com`; every host unless given. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** What may be called besides public addresses: single ones or ranges such as `10.0.0.0/8`; none unless given. */
  readonly allowedAddresses?: readonly string[] | undefined;
}

type Address = ReturnType<typeof ipaddr.parse>;
type Range = readonly [Address, number];

/** What is routed on the public internet; the rest of IPv6 is special, or not given out yet. */
const GLOBAL_UNICAST: Range = ipaddr.parseCIDR('2000::/3');

/**
 * Keeps a payload from reaching what only this machine can reach (SSRF).
 *
 * The name is looked up once, by `lookup`, at the moment of connecting, and the connection goes to an address that was
 * checked: there is no second answer that could differ from the first. A literal address is never looked up, so
 * `checkUrl` judges it.
 */
export class AddressGuard {
  readonly #hosts: readonly string[] | undefined;
  readonly #ranges: readonly Range[];
  readonly #resolve: ResolveHost;

  /**
   * @param owner - whose options the rules are, for messages.
   * @param rules - see AddressRules.
   * @param resolve - finds the addresses of a host (the operating system).
   * @throws MillraceError `OPTION_INVALID`.
   */
  constructor(owner: string, rules: AddressRules, resolve: ResolveHost = resolveBySystem) {
    const { allowedHosts, allowedAddresses = [] } = rules;
    this.#hosts = allowedHosts?.map((host) => readHost(owner, host));
    this.#ranges = allowedAddresses.map((range) => readRange(owner, range));
    this.#resolve = resolve;
  }

  /**
   * Refuses an address that may not be called, as far as it can be told without looking its name up.
   * @param url - where the call goes, redirects included.
   * @param protocols - what it may speak.
   * @throws MillraceError `ADDRESS_REFUSED`.
   */
  checkUrl(url: URL, protocols: readonly string[]): void {
    const host = plainHost(url.hostname);
    if (!protocols.includes(url.protocol)) {
      const names = protocols.map((protocol) => protocol.slice(0, -1)).join(' and ');
      throw refused(host, `only ${names} may be spoken, not ${url.protocol.slice(0, -1)}`);
    }
    if (url.username !== '' || url.password !== '')
      throw refused(host, 'a name and password do not belong into a URL; send an authorization header');
    if (!this.#allowsHost(host)) throw refused(host, 'it is not in the list of allowed hosts (allowedHosts)');
    if (isIP(host) !== 0 && !this.allows(host)) throw refused(host, NOT_PUBLIC);
  }

  /**
   * Whether a connection may go to an address.
   * @param text - IPv4 or IPv6, without brackets.
   */
  allows(text: string): boolean {
    // Only what a socket takes for an address: ipaddr.js also reads 8.8 as 8.0.0.8.
    if (isIP(text) === 0 || !ipaddr.isValid(text)) return false;
    // `process` unwraps ::ffff:10.0.0.1, which reaches the same machine as 10.0.0.1.
    const address = ipaddr.process(text);
    if (this.#ranges.some((range) => isWithin(address, range))) return true;
    return address.range() === 'unicast' && (address.kind() === 'ipv4' || isWithin(address, GLOBAL_UNICAST));
  }

  /** Looks a host up for a socket that connects, and gives it only what may be called. */
  readonly lookup: LookupFunction = (hostname, { all, family }, callback) => {
    const tell = (error: unknown) => callback(error as Error, '', 0);
    this.#usable(hostname, family).then((addresses) => {
      const found = addresses.map((address) => ({ address, family: isIP(address) }));
      const [first] = found;
      if (!first) tell(new Error(`${hostname} has no address`));
      else if (all) callback(null, found);
      else callback(null, first.address, first.family);
    }, tell);
  };

  async #usable(hostname: string, family: unknown): Promise<readonly string[]> {
    const addresses = await this.#resolve(hostname);
    const usable = addresses.filter((address) => this.allows(address));
    // Which address it has is not said: names inside a network are not for everyone who may submit a job.
    if (addresses.length > 0 && usable.length === 0) throw refused(hostname, NOT_PUBLIC);
    const wanted = family === 4 || family === 'IPv4' ? 4 : family === 6 || family === 'IPv6' ? 6 : 0;
    return wanted === 0 ? usable : usable.filter((address) => isIP(address) === wanted);
  }

  #allowsHost(host: string): boolean {
    if (!this.#hosts) return true;
    return this.#hosts.some((allowed) =>
      allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed,
    );
  }
}

const NOT_PUBLIC = 'its address is not public; allow it with allowedAddresses if it is meant';

const refused = (host: string, reason: string): MillraceError =>
  ERRORS.create('ADDRESS_REFUSED', { host: printable(host), reason });

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await systemLookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

/** Without the brackets of IPv6, and without the dot that ends a complete name. */
const plainHost = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');

const isWithin = (address: Address, [start, bits]: Range): boolean =>
  address.kind() === start.kind() && address.match(start, bits);

/** Read as a URL's host, so that both sides of the comparison are written alike. */
function readHost(owner: string, given: unknown): string {
  const wild = typeof given === 'string' && given.startsWith('*.');
  const name = wild ? given.slice(2) : given;
  const isName = typeof name === 'string' && (/^[^/?#@:*\s\\]+$/.test(name) || /^\[[^\]]+\]$/.test(name));
  const url = isName ? `http://${name}` : '';
  if (!URL.canParse(url))
    throw optionInvalid(
      owner,
      'allowedHosts',
      "host names such as 'api.example.com' or '*.example.com'",
      given,
    );
  return (wild ? '*.' : '') + plainHost(new URL(url).hostname);
}

function readRange(owner: string, given: unknown): Range {
  const text = typeof given === 'string' ? given : '';
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (isIP(text) !== 0) {
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  }
  throw optionInvalid(owner, 'allowedAddresses', "addresses or ranges such as '10.0.0.0/8'", given);
}

const optionInvalid = (owner: string, option: string, expected: string, given: unknown): MillraceError =>
  FOUNDATION_ERRORS.create('OPTION_INVALID', { owner, option, expected, given: printable(given) });
