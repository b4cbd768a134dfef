/* Every fault scenario: loading one registers it, in this order they are played. */
import './abort-storm.js';
import './bulk-cluster.js';
import './bulk-cluster-skew.js';
import './bulk-corrupt-record.js';
import './bulk-disk-full.js';
import './bulk-memory-full.js';
import './bulk-one-key.js';
import './bulk-redis.js';
import './bulk-service-down.js';
import './bulk-workers.js';
import './orchestrator-kills.js';
import './outbox-exactly-once.js';
import './redis-queue.js';
import './runner-killed.js';
import './server-campaign.js';
