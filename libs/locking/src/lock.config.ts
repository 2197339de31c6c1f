import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsInt,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { CrossRule, Key } from '#config';

const oddCount = ({ REDIS_LOCK_URLS: urls }: LockConfig): boolean => !urls || urls.length % 2 === 1;
const renewsInTime = (config: LockConfig): boolean =>
  config.LOCK_RENEWAL_INTERVAL_MILLISECONDS < config.LOCK_LEASE_MILLISECONDS / 2;

/** Where leases are kept and how long they last. The same values for the whole fleet. */
@CrossRule<LockConfig>(
  ['REDIS_LOCK_URLS'],
  'REDIS_LOCK_URLS must name an odd number of nodes: an even one tolerates no more failures and splits its votes',
  oddCount,
)
@CrossRule<LockConfig>(
  ['LOCK_RENEWAL_INTERVAL_MILLISECONDS', 'LOCK_LEASE_MILLISECONDS'],
  'LOCK_RENEWAL_INTERVAL_MILLISECONDS must be less than half of LOCK_LEASE_MILLISECONDS, so that one lost renewal does not lose the lease',
  renewsInTime,
)
export class LockConfig {
  @Key({
    meaning:
      'Independent Redis nodes that vote on leases, with commas: a majority of them must agree. REDIS_URL alone unless given.',
    kind: 'list',
    optional: true,
    secret: 'url',
  })
  @ArrayMinSize(1)
  @ArrayMaxSize(15)
  @ArrayUnique()
  @Matches(/^(rediss?|unix):\/\/.+/, {
    each: true,
    message: '$property must list single nodes, each redis://…, rediss://… or unix://…',
  })
  REDIS_LOCK_URLS?: string[];

  @Key({ meaning: 'Milliseconds a lease lasts unless it is renewed.', default: 30_000 })
  @IsInt()
  @Min(1_000)
  @Max(3_600_000)
  LOCK_LEASE_MILLISECONDS!: number;

  @Key({ meaning: 'Milliseconds between renewals of a held lease.', default: 10_000 })
  @IsInt()
  @Min(100)
  @Max(1_800_000)
  LOCK_RENEWAL_INTERVAL_MILLISECONDS!: number;

  @Key({ meaning: 'What the names of lock keys in Redis begin with.', default: 'discovery-lock:' })
  @MaxLength(100)
  LOCK_KEY_PREFIX!: string;
}
