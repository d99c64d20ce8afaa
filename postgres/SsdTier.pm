# For PostgreSQL's TAP tests (suite --ssd): gives each cluster that a test starts an
# SSD tier, whose file is beside the data directory, since no two clusters may share
# one.  Before a cluster is stopped, what its tier has done is written to the file
# that SSD_TIER_LOG names, a line each.
#
# Loaded by PERL5OPT=-MSsdTier into every Perl program; only those with
# PostgreSQL::Test::Cluster change.
package SsdTier;

use strict;
use warnings;

my $QUERY =
	"SELECT concat_ws(' ', status, hits, verified, read_errors, bad_pages, write_errors)"
  . " FROM pg_stat_ssd_tier";

# The tier's directory, in the configuration unless it is there already.
sub configure
{
	my ($node) = @_;
	my $directory = $node->basedir . '/ssd';
	my $setting = "bufferpool.ssd_path = '$directory'";
	my $file = $node->data_dir . '/postgresql.conf';

	mkdir $directory;
	return if !-e $file;
	# a copy of another cluster has that one's, too: the last one counts
	my @paths = grep { /^bufferpool\.ssd_path/ }
	  split(/\n/, PostgreSQL::Test::Utils::slurp_file($file));
	return if @paths && $paths[-1] eq $setting;
	$node->append_conf('postgresql.conf', $setting);
	# few buffers, so that pages are read again and again; but this test picks out
	# buffers by number, and they must not be given to others meanwhile
	$node->append_conf('postgresql.conf', "shared_buffers = '1MB'") if $0 !~ /001_aio/;
	return;
}

sub report
{
	my ($node) = @_;
	my ($out, $log) = ('');

	return if !defined $node->{_pid};
	# some servers accept no connection, and some clusters have no such database
	eval { $node->psql('ssd_tier', $QUERY, stdout => \$out, stderr => \my $error, timeout => 30); };
	return if $out eq '' || !open($log, '>>', $ENV{SSD_TIER_LOG});
	print $log "$0 " . $node->name . " $out\n";
	close($log);
	return;
}

INIT
{
	if (my $start = PostgreSQL::Test::Cluster->can('start'))
	{
		my $stop = PostgreSQL::Test::Cluster->can('stop');
		no warnings 'redefine';
		*PostgreSQL::Test::Cluster::start = sub { configure($_[0]); return $start->(@_); };
		*PostgreSQL::Test::Cluster::stop = sub { report($_[0]); return $stop->(@_); };
	}
}

1;
